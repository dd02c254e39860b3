import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * An engine of ipcmark in Java: you write an {@link End}, this file does the rest. docs/ENGINES.md has the protocol. No
 * dependency; CC0.
 */
public final class IpcmarkEngine {
  /** What you write: both roles are opened at once. */
  public interface End {
    void send(ByteBuffer message) throws Exception;

    /** Fills the message. */
    void recv(ByteBuffer message) throws Exception;

    void close() throws Exception;
  }

  /** Opens an end: asked has role, bytes, folder, name, and options as opt.KEY. */
  public interface Opens {
    End open(Map<String, String> asked) throws Exception;
  }

  // What a library prints must not be taken for an answer.
  private static final PrintStream ANSWERS = System.out;

  private static void say(String word, Map<String, ?> fields) {
    StringBuilder line = new StringBuilder(word);
    for (Map.Entry<String, ?> field : new TreeMap<>(fields).entrySet()) {
      String value = URLEncoder.encode(String.valueOf(field.getValue()), StandardCharsets.UTF_8);
      line.append(' ').append(field.getKey()).append('=').append(value.replace("+", "%20"));
    }
    ANSWERS.print(line.append('\n'));
    ANSWERS.flush();
  }

  /**
   * Does what ipcmark asks for on standard input, until that ends. What about says of the engine: name, version, summary,
   * licence, options ("wait=sleep|spin"), framing ("messages"), waits ("spins"), largest.
   */
  public static void serve(Opens opens, Map<String, String> about) throws IOException {
    System.setOut(System.err);
    Map<String, String> hello = new HashMap<>(about);
    hello.putAll(Map.of("protocol", "1", "null", "yes"));
    hello.put("language", "Java " + System.getProperty("java.version"));
    say("hello", hello);
    try {
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
      Side side = null;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] words = line.trim().split(" ");
        Map<String, String> asked = new HashMap<>();
        for (int nth = 1; nth < words.length; nth++) {
          int at = words[nth].indexOf('=');
          String value = words[nth].substring(at + 1).replace("+", "%2B");
          asked.put(words[nth].substring(0, at), URLDecoder.decode(value, StandardCharsets.UTF_8));
        }
        switch (words[0]) {
          case "open":
            side = new Side(opens.open(asked), asked);
            say("opened", Map.of());
            break;
          case "verify":
            int count = Integer.parseInt(asked.get("count"));
            int sum = side.verify(count, Integer.parseUnsignedInt(asked.get("seed")));
            say("verified", Map.of("sum", Integer.toUnsignedString(sum)));
            break;
          case "exchange":
            int samples = Integer.parseInt(asked.get("samples"));
            long batch = Long.parseLong(asked.get("batch"));
            boolean transfers = asked.get("workload").equals("throughput");
            side.isNull = asked.get("workload").equals("null"); // a latency without a mechanism
            long[] stamps = transfers ? side.transfers(samples, batch) : side.roundTrips(samples, batch);
            say(
                "exchanged",
                Map.of("begun_ns", stamps[0], "ended_ns", stamps[1], "operations", samples * batch));
            break;
          case "close":
            side.own.close();
            say("closed", Map.of());
            System.exit(0);
            break;
          default:
            break;
        }
      }
    } catch (Exception error) {
      say("failed", Map.of("reason", error.toString()));
      System.exit(1);
    }
  }

  private static final class Side {
    final End own;
    final boolean initiates;
    final ByteBuffer out;
    final ByteBuffer in;
    final ByteBuffer acknowledgement = ByteBuffer.allocateDirect(1);
    final RandomAccessFile samples;
    boolean isNull;

    Side(End own, Map<String, String> asked) throws IOException {
      this.own = own;
      initiates = asked.get("role").equals("initiator");
      int bytes = Integer.parseInt(asked.get("bytes"));
      out = ByteBuffer.allocateDirect(bytes);
      in = ByteBuffer.allocateDirect(bytes);
      samples = new RandomAccessFile(asked.get("samples"), "rw");
    }

    void send(ByteBuffer message) throws Exception {
      message.clear();
      if (!isNull) own.send(message);
    }

    void recv(ByteBuffer message) throws Exception {
      message.clear();
      if (!isNull) own.recv(message);
    }

    /** Sends messages that a seed makes; gives the sum of those that came. */
    int verify(int count, int seed) throws Exception {
      int total = 0x811C9DC5;
      for (; count > 0; count--) {
        for (int at = 0; at < out.capacity(); at++) {
          seed = seed * 1664525 + 1013904223;
          out.put(at, (byte) (seed >>> 24));
        }
        if (initiates) send(out);
        recv(in);
        if (!initiates) send(out);
        for (int at = 0; at < in.capacity(); at++) total = (total ^ (in.get(at) & 0xFF)) * 16777619;
      }
      return total;
    }

    long[] roundTrips(int count, long batch) throws Exception {
      long[] taken = new long[initiates ? count : 0];
      long began = System.nanoTime(); // CLOCK_MONOTONIC
      long before = began;
      for (int nth = 0; nth < count; nth++) {
        for (long each = 0; each < batch; each++) {
          if (initiates) {
            send(out);
            recv(in);
          } else {
            recv(in);
            send(in);
          }
        }
        if (initiates) {
          long now = System.nanoTime();
          taken[nth] = now - before;
          before = now;
        }
      }
      return written(taken, began, initiates ? before : System.nanoTime());
    }

    long[] transfers(int count, long batch) throws Exception {
      long[] taken = new long[initiates ? count : 0];
      long began = System.nanoTime();
      long before = began;
      for (int nth = 0; nth < count; nth++) {
        for (long each = 0; each < batch; each++) {
          if (initiates) send(out);
          else recv(in);
        }
        if (initiates) {
          recv(acknowledgement);
          long now = System.nanoTime();
          taken[nth] = now - before;
          before = now;
        } else {
          send(acknowledgement);
        }
      }
      return written(taken, began, initiates ? before : System.nanoTime());
    }

    long[] written(long[] taken, long began, long ended) throws IOException {
      ByteBuffer bytes = ByteBuffer.allocate(8 * taken.length).order(ByteOrder.LITTLE_ENDIAN);
      bytes.asLongBuffer().put(taken);
      samples.seek(0);
      samples.write(bytes.array());
      return new long[] {began, ended};
    }
  }
}
