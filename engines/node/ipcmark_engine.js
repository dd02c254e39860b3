'use strict';
// An engine of ipcmark in Node: you write how messages are sent and received, this file does the rest.
//
//   const { serve } = require('./ipcmark_engine');
//   serve(async (asked) => ({          // asked.role, .bytes, .folder, .name, .options; both roles are opened at once
//     send(message) {},                // a Buffer; may be async
//     recv(size) {},                   // gives a Buffer of so many bytes; may be async
//     close() {},
//   }), { name: 'mine', version: '1.2', summary: 'my queue' });
//
// docs/ENGINES.md has the protocol. No dependency; CC0.

const fs = require('fs');
const readline = require('readline');

const nowNs = () => process.hrtime.bigint(); // CLOCK_MONOTONIC

function say(word, fields) {
  const encoded = (value) => encodeURIComponent(String(value)).replace(/%(7C|3D|2C|2F)/g, decodeURIComponent);
  const pairs = Object.entries(fields).map(([key, value]) => ` ${key}=${encoded(value)}`);
  fs.writeSync(1, `${word}${pairs.join('')}\n`);
}

function parse(line) {
  const [word, ...pairs] = line.trim().split(/\s+/);
  const asked = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    asked[pair.slice(0, at)] = decodeURIComponent(pair.slice(at + 1));
  }
  return [word, asked];
}

const NOTHING = { send() {}, recv() {} };

class End {
  constructor(own, asked) {
    this.own = own;
    this.initiates = asked.role === 'initiator';
    this.bytes = Number(asked.bytes);
    this.message = Buffer.alloc(this.bytes);
    this.samples = fs.openSync(asked.samples, 'r+');
  }

  // Sends messages that a seed makes; gives the sum of those that came.
  async verify(count, seed) {
    let total = 0x811c9dc5;
    for (let nth = 0; nth < count; nth += 1) {
      const made = Buffer.alloc(this.bytes);
      for (let at = 0; at < this.bytes; at += 1) {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        made[at] = seed >>> 24;
      }
      if (this.initiates) await this.own.send(made);
      const came = await this.own.recv(this.bytes);
      if (!this.initiates) await this.own.send(made);
      for (const byte of came) total = Math.imul(total ^ byte, 16777619) >>> 0;
    }
    return { sum: total };
  }

  // Does samples * batch operations; says when it began and ended, and how many it did; a null is a latency without a mechanism.
  async exchange(workload, samples, batch) {
    const { bytes, message, initiates } = this;
    const own = workload === 'null' ? NOTHING : this.own;
    const latency = workload !== 'throughput';
    const taken = initiates ? new BigUint64Array(samples) : null;
    const began = nowNs();
    let before = began;
    const stamp = (nth) => {
      const now = nowNs();
      taken[nth] = now - before;
      before = now;
    };
    if (latency && initiates) {
      for (let nth = 0; nth < samples; nth += 1) {
        for (let each = 0; each < batch; each += 1) {
          await own.send(message);
          await own.recv(bytes);
        }
        stamp(nth);
      }
    } else if (latency) {
      for (let nth = samples * batch; nth > 0; nth -= 1) await own.send(await own.recv(bytes));
    } else if (initiates) {
      for (let nth = 0; nth < samples; nth += 1) {
        for (let each = 0; each < batch; each += 1) await own.send(message);
        await own.recv(1);
        stamp(nth);
      }
    } else {
      for (let nth = 0; nth < samples; nth += 1) {
        for (let each = 0; each < batch; each += 1) await own.recv(bytes);
        await own.send(Buffer.from([0xac]));
      }
    }
    const ended = initiates ? before : nowNs();
    if (taken) fs.writeSync(this.samples, Buffer.from(taken.buffer), 0, samples * 8, 0);
    return { begun_ns: began, ended_ns: ended, operations: samples * batch };
  }
}

// Does what ipcmark asks for on standard input, until that ends. What `about` says of the engine: name, version, summary,
// licence, options ('wait=sleep|spin'), framing ('messages'), waits ('spins'), largest.
async function serve(open, about) {
  console.log = console.error; // what is printed must not be taken for an answer
  say('hello', { protocol: 1, null: 'yes', language: `Node ${process.versions.node}`, ...about });
  try {
    let end;
    for await (const line of readline.createInterface({ input: process.stdin })) {
      const [word, asked] = parse(line);
      if (word === 'open') {
        const options = Object.entries(asked).filter(([key]) => key.startsWith('opt.'));
        asked.options = Object.fromEntries(options.map(([key, value]) => [key.slice(4), value]));
        end = new End(await open({ ...asked, bytes: Number(asked.bytes) }), asked);
        say('opened', {});
      } else if (word === 'verify') {
        say('verified', await end.verify(Number(asked.count), Number(asked.seed)));
      } else if (word === 'exchange') {
        say('exchanged', await end.exchange(asked.workload, Number(asked.samples), Number(asked.batch)));
      } else if (word === 'close') {
        await end.own.close();
        say('closed', {});
        process.exit(0);
      }
    }
  } catch (error) {
    say('failed', { reason: String(error) });
    process.exit(1);
  }
}

module.exports = { serve };
