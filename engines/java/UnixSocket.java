import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Map;

/** What two Java programs use: a SocketChannel over a Unix socket. */
public final class UnixSocket implements IpcmarkEngine.End {
  private final SocketChannel channel;

  private UnixSocket(Map<String, String> asked) throws Exception {
    Path path = Path.of(asked.get("folder"), "s");
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(path);
    if (asked.get("role").equals("responder")) {
      try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
        server.bind(address);
        channel = server.accept();
      }
    } else {
      channel = connect(address);
    }
  }

  private static SocketChannel connect(UnixDomainSocketAddress address) throws InterruptedException {
    while (true) {
      try {
        return SocketChannel.open(address);
      } catch (IOException notYet) {
        Thread.sleep(1);
      }
    }
  }

  @Override
  public void send(ByteBuffer message) throws IOException {
    while (message.hasRemaining()) channel.write(message);
  }

  @Override
  public void recv(ByteBuffer message) throws IOException {
    while (message.hasRemaining()) if (channel.read(message) < 0) throw new EOFException("the partner is gone");
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  public static void main(String[] words) throws IOException {
    IpcmarkEngine.serve(
        UnixSocket::new,
        Map.of(
            "name", "java-unix-socket",
            "version", System.getProperty("java.version"),
            "warmup_ms", "1000",
            "summary", "SocketChannel over a Unix socket",
            "licence", "GPL-2.0 with Classpath exception"));
  }
}
