import io.aeron.Aeron;
import io.aeron.AeronVersion;
import io.aeron.FragmentAssembler;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.agrona.CloseHelper;
import org.agrona.concurrent.BusySpinIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.YieldingIdleStrategy;

/**
 * Aeron between two Java programs: aeron:ipc, a publication each way. The media driver is a thread of the responder; its files lie
 * in the folder of the connection (TMPDIR=/dev/shm: in memory). Both ends ask again and again: wait=spin, or wait=yield.
 */
public final class AeronIpc implements IpcmarkEngine.End {
  private static final String CHANNEL = "aeron:ipc";
  private static final int TERM_BYTES = 16 << 20;
  /** Of an eighth of a term, 1 KiB less for what stands before a message. */
  private static final int LARGEST = (TERM_BYTES >> 3) - 1024;

  private final MediaDriver driver;
  private final Aeron aeron;
  private final Publication to;
  private final Subscription from;
  private final IdleStrategy idle;
  private final UnsafeBuffer outgoing = new UnsafeBuffer(0, 0);
  private ByteBuffer into;
  private boolean came;
  private final FragmentHandler handler =
      new FragmentAssembler(
          (buffer, offset, length, header) -> {
            if (length != into.remaining()) {
              throw new IllegalStateException("a message of " + length + " bytes came, and " + into.remaining() + " were due");
            }
            buffer.getBytes(offset, into, length);
            came = true;
          });

  private AeronIpc(Map<String, String> asked) throws Exception {
    boolean responds = asked.get("role").equals("responder");
    Path folder = Path.of(asked.get("folder"), "aeron");
    idle = asked.get("opt.wait").equals("yield") ? new YieldingIdleStrategy() : new BusySpinIdleStrategy();
    driver =
        !responds
            ? null
            : MediaDriver.launchEmbedded(
                new MediaDriver.Context()
                    .aeronDirectoryName(folder.toString())
                    .threadingMode(ThreadingMode.SHARED)
                    .ipcTermBufferLength(TERM_BYTES));
    while (!Files.exists(folder.resolve("cnc.dat"))) Thread.sleep(1);
    String name = responds ? driver.aeronDirectoryName() : folder.toString();
    aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(name));
    from = aeron.addSubscription(CHANNEL, responds ? 1 : 2);
    to = aeron.addPublication(CHANNEL, responds ? 2 : 1);
    while (!to.isConnected() || !from.isConnected()) Thread.sleep(1);
  }

  @Override
  public void send(ByteBuffer message) {
    outgoing.wrap(message);
    idle.reset();
    for (long at = to.offer(outgoing); at < 0; at = to.offer(outgoing)) {
      if (at != Publication.BACK_PRESSURED && at != Publication.ADMIN_ACTION) {
        throw new IllegalStateException("offer: " + Publication.errorString(at));
      }
      idle.idle();
    }
  }

  @Override
  public void recv(ByteBuffer message) throws IOException {
    into = message;
    came = false;
    idle.reset();
    while (!came) idle.idle(from.poll(handler, 1));
  }

  @Override
  public void close() {
    CloseHelper.closeAll(aeron, driver);
  }

  public static void main(String[] words) throws IOException {
    IpcmarkEngine.serve(
        AeronIpc::new,
        Map.of(
            "name", "aeron",
            "version", AeronVersion.VERSION,
            "warmup_ms", "1000",
            "summary", "Aeron, aeron:ipc between two JVMs",
            "licence", "Apache-2.0",
            "options", "wait=spin|yield",
            "framing", "messages",
            "waits", "spins",
            "largest", Integer.toString(LARGEST)));
  }
}
