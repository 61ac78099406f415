package data_skip;

import java.net.Socket;
import java.net.SocketException;
import java.util.Base64;
import py4j.ClientServerConnection;
import py4j.Py4JPythonClientPerThread;

/**
 * The connections over which Python asks. An answer of more than the 8 kB of py4j's buffer goes out in parts, and by Nagle's algorithm the
 * second waits until the first is acknowledged, which Linux delays by 40 ms: a hundred times what the rest takes.
 */
public final class Connection {
  private static volatile Py4JPythonClientPerThread client; // null: unknown, as where one connection serves all threads

  private static final ThreadLocal AT_ONCE = new ThreadLocal(); // the Socket over which this thread's go at once

  private Connection() {}

  /** From now on it is known how this JVM calls Python. */
  public static void by(Object callbackClient) {
    client = callbackClient instanceof Py4JPythonClientPerThread ? (Py4JPythonClientPerThread) callbackClient : null;
  }

  /** Bytes for Python; null for null. Of an array py4j makes an object a byte, which takes longer than all else that is done with it. */
  public static String text(byte[] bytes) {
    return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
  }

  /** What this thread says to Python from now on is sent at once: true; false where it has no connection yet, or none that is known. */
  public static boolean answersAtOnce() {
    ClientServerConnection connection = client == null ? null : client.getPerThreadConnection();
    if (connection == null) return false;
    Socket socket = connection.getSocket();
    if (AT_ONCE.get() == socket && !socket.isClosed()) return true;
    try {
      socket.setTcpNoDelay(true);
      AT_ONCE.set(socket);
      return true;
    } catch (SocketException closed) { // then there is nobody to answer
      return false;
    }
  }
}
