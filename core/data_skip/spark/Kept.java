package data_skip;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What Python may ask about, by numbers. To hand an object to Python takes a call for it to be let go of, and each question to it another:
 * mostly Python is told all that it needs, and answers at once. It says with its next answer which numbers it holds no more.
 */
public final class Kept {
  private static final AtomicLong LAST = new AtomicLong(System.nanoTime()); // numbers that a Python has of another JVM are not of this one
  private static final Map OBJECTS = new ConcurrentHashMap();

  private Kept() {}

  /** The number of an object that is kept from now on. */
  public static String keep(Object object) {
    String number = Long.toString(LAST.incrementAndGet());
    OBJECTS.put(number, object);
    return number;
  }

  /** null: it is not kept. */
  public static Object of(String number) {
    return OBJECTS.get(number);
  }

  /** numbers: separated by commas. */
  public static void forget(String numbers) {
    String[] each = numbers.split(",");
    for (int i = 0; i < each.length; i++) OBJECTS.remove(each[i]);
  }

  /** What Python says after the first line, which tells what is to be forgotten. */
  public static String withoutForgotten(String said) {
    int end = said.indexOf('\n');
    forget(said.substring(0, end));
    return said.substring(end + 1);
  }

  public static int count() {
    return OBJECTS.size();
  }
}
