// Boost.Interprocess: a message_queue each way, in shared memory.
//
// A queue has room for so many messages of the largest size. receive() wants a buffer of that size: a smaller message is copied
// twice. The names of both queues are removed as soon as both ends have them.
#include "plugin.h"

#include <algorithm>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/version.hpp>
#include <memory>
#include <string>
#include <vector>

using boost::interprocess::message_queue;

namespace {

struct Queue {
    std::unique_ptr<message_queue> queue;
    std::vector<char> largest;

    int took(void *message, size_t bytes, const char *from, size_t got)
    {
        if (got != bytes)
            return wrong_length(static_cast<long long>(got), bytes);
        if (from != message)
            memcpy(message, from, bytes);
        return IPCMARK_DONE;
    }

    // Where a message of `bytes` may be received.
    char *buffer(void *message, size_t bytes)
    {
        return bytes < largest.size() ? largest.data() : static_cast<char *>(message);
    }
};

struct End {
    Queue to, from;
};

// What the library throws is an error text here.
template <typename Code> int guarded(const char *call, Code code)
{
    try {
        return code();
    } catch (const std::exception &error) {
        return fail("%s: %s", call, error.what());
    }
}

int send_all(void *self, const void *message, size_t bytes)
{
    return guarded("send", [&] {
        static_cast<End *>(self)->to.queue->send(message, bytes, 0);
        return IPCMARK_DONE;
    });
}

int recv_all(void *self, void *message, size_t bytes)
{
    return guarded("receive", [&] {
        Queue &from = static_cast<End *>(self)->from;
        char *into = from.buffer(message, bytes);
        message_queue::size_type got;
        unsigned priority;
        from.queue->receive(into, from.largest.size(), got, priority);
        return from.took(message, bytes, into, got);
    });
}

int try_send(void *self, const void *message, size_t bytes)
{
    return guarded("try_send", [&] {
        return static_cast<End *>(self)->to.queue->try_send(message, bytes, 0) ? IPCMARK_DONE : IPCMARK_WOULD_BLOCK;
    });
}

int try_recv(void *self, void *message, size_t bytes)
{
    return guarded("try_receive", [&]() -> int {
        Queue &from = static_cast<End *>(self)->from;
        char *into = from.buffer(message, bytes);
        message_queue::size_type got;
        unsigned priority;
        if (!from.queue->try_receive(into, from.largest.size(), got, priority))
            return IPCMARK_WOULD_BLOCK;
        return from.took(message, bytes, into, got);
    });
}

// It waits at a condition in shared memory: no descriptor tells.
int ready(void *) { return -1; }

int respond(const ipcmark_spec *spec, End &end, const std::string &there, const std::string &back)
{
    auto made = [&](const std::string &name, uint64_t bytes) {
        uint64_t fitting = std::clamp<uint64_t>((8 << 20) / bytes, 2, 100);
        uint64_t depth = spec->depth ? spec->depth : fitting;
        return std::make_unique<message_queue>(boost::interprocess::create_only, name.c_str(), depth, bytes);
    };
    end.from.queue = made(there, spec->request_bytes);
    end.to.queue = made(back, spec->answer_bytes);
    end.from.largest.resize(end.from.queue->get_max_msg_size());
    char byte;
    int came;
    while ((came = try_recv(&end, &byte, 1)) == IPCMARK_WOULD_BLOCK)
        if (!again(spec)) {
            came = too_late(spec);
            break;
        }
    message_queue::remove(there.c_str());
    message_queue::remove(back.c_str());
    return came;
}

int initiate(const ipcmark_spec *spec, End &end, const std::string &there, const std::string &back)
{
    for (;;)
        try {
            end.to.queue = std::make_unique<message_queue>(boost::interprocess::open_only, there.c_str());
            end.from.queue = std::make_unique<message_queue>(boost::interprocess::open_only, back.c_str());
            break;
        } catch (const boost::interprocess::interprocess_exception &error) {
            if (error.get_error_code() != boost::interprocess::not_found_error)
                throw;
            if (!again(spec))
                return too_late(spec);
        }
    end.from.largest.resize(end.from.queue->get_max_msg_size());
    char byte = 1;
    return send_all(&end, &byte, 1);
}

int open_end(const ipcmark_spec *spec, void **out)
{
    return guarded("open", [&] {
        auto end = std::make_unique<End>();
        std::string name = spec->name, there = "ipcmark-" + name + "-a", back = "ipcmark-" + name + "-b";
        int opened = spec->role ? respond(spec, *end, there, back) : initiate(spec, *end, there, back);
        *out = end.release();
        return opened;
    });
}

void close_end(void *self) { delete static_cast<End *>(self); }

std::string version()
{
    std::string text = BOOST_LIB_VERSION;
    std::replace(text.begin(), text.end(), '_', '.');
    return text;
}

} // namespace

extern "C" const ipcmark_plugin_table *ipcmark_plugin(void)
{
    static const std::string text = version();
    static ipcmark_plugin_table table = {};
    table.magic = IPCMARK_PLUGIN_MAGIC, table.abi = IPCMARK_PLUGIN_ABI, table.size = sizeof table;
    table.name = "boost", table.summary = "Boost.Interprocess, a message_queue each way";
    table.version = text.c_str(), table.language = "C++", table.licence = "BSL-1.0";
    table.carries = IPCMARK_BYTES, table.framing = IPCMARK_MESSAGES;
    table.open = open_end, table.send = send_all, table.recv = recv_all, table.close = close_end, table.error = last_error;
    table.try_send = try_send, table.try_recv = try_recv, table.ready = ready;
    return &table;
}
