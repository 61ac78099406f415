package data_skip;

import java.lang.reflect.Field;
import java.net.Socket;
import java.net.SocketException;
import java.util.Base64;
import java.util.Collections;
import java.util.Deque;
import java.util.concurrent.locks.Lock;
import java.util.function.BiFunction;
import py4j.CallbackClient;
import py4j.ClientServerConnection;
import py4j.Py4JPythonClientPerThread;

/**
 * The connections over which Python is asked, and asks. An answer of more than the 8 kB of py4j's buffer goes out in parts, and by Nagle's algorithm the
 * second waits until the first is acknowledged, which Linux delays by 40 ms: a hundred times what the rest takes.
 *
 * A thread that Python has not started, as one of Spark's pools, of which adaptive execution takes new ones for each query, opens one of its own.
 * py4j never closes it, when that thread has long ended neither, and Python has a thread and a file for it: so it is closed once Python has answered.
 */
public final class Connection {
  private static volatile Py4JPythonClientPerThread client; // null: unknown, as where one connection serves all threads

  private static final ThreadLocal AT_ONCE = new ThreadLocal(); // the Socket over which this thread's go at once

  private Connection() {}

  /** From now on it is known how this JVM calls Python. */
  public static void by(Object callbackClient) {
    client = callbackClient instanceof Py4JPythonClientPerThread ? (Py4JPythonClientPerThread) callbackClient : null;
  }

  /** What Python says to a question, which it is told on this thread. */
  public static Object ask(BiFunction python, String question, Object about) {
    boolean stays = connection() != null || isOfPython();
    try {
      return python.apply(question, about);
    } finally {
      if (!stays) close();
    }
  }

  /** Opens this thread's, where it has none: true where whoever calls this is to `close` it. */
  public static boolean open(BiFunction python) {
    if (connection() != null) return false;
    python.apply("connect", null);
    return !isOfPython();
  }

  /** This thread's; null where it has none. */
  private static ClientServerConnection connection() {
    ClientServerConnection connection = client == null ? null : client.getPerThreadConnection();
    return connection == null || connection.getSocket() == null ? null : connection;
  }

  /** Whether this thread does what a thread of Python's asks, as long as that is there. */
  private static boolean isOfPython() {
    StackTraceElement[] callers = new Throwable().getStackTrace();
    for (int i = 0; i < callers.length; i++) {
      if (callers[i].getClassName().equals(ClientServerConnection.class.getName()) && callers[i].getMethodName().equals("run")) return true;
    }
    return false;
  }

  /** Closes this thread's, unless Python has opened it. */
  public static void close() {
    ClientServerConnection connection = connection();
    if (connection == null || !connection.isInitiatedFromClient()) return;
    AT_ONCE.remove();
    forget(connection);
    connection.shutdown();
  }

  /** py4j keeps what was used last, with no word to be told that it shall not. */
  private static void forget(ClientServerConnection connection) {
    try {
      Lock lock = (Lock) field("lock").get(client);
      lock.lock();
      try {
        ((Deque) field("connections").get(client)).removeAll(Collections.singleton(connection)); // a question in a question adds it twice
      } finally {
        lock.unlock();
      }
    } catch (Exception other) { // of a py4j that has others: it keeps what is closed
      return;
    }
  }

  private static Field field(String name) throws NoSuchFieldException {
    Field field = CallbackClient.class.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  /** Bytes for Python; null for null. Of an array py4j makes an object a byte, which takes longer than all else that is done with it. */
  public static String text(byte[] bytes) {
    return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
  }

  /** What this thread says to Python from now on is sent at once: true; false where it has no connection yet, or none that is known. */
  public static boolean answersAtOnce() {
    ClientServerConnection connection = connection();
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
