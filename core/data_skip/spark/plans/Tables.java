package data_skip;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** What Python has said of the indexes of tables. It is not asked again as long as all of it is so still. */
public final class Tables {
  private static final int MOST = 1000;

  private final Map known = new ConcurrentHashMap(); // by the roots of a table, an Indexed
  private volatile long forgotten; // how often

  /** Of each of some tables, by their roots, an Indexed; null where Python is to be asked. */
  public Indexed[] of(List roots) {
    Indexed[] result = new Indexed[roots.size()];
    Map looked = new HashMap(); // a query reads some tables many times
    for (int i = 0; i < result.length; i++) {
      result[i] = (Indexed) looked.get(roots.get(i));
      if (result[i] != null) continue;
      result[i] = (Indexed) known.get(roots.get(i));
      if (result[i] == null || !result[i].isStill()) return null;
      looked.put(roots.get(i), result[i]);
    }
    return result;
  }

  /** Keeps what Python has said. asked: how often all was forgotten before it was asked. */
  public synchronized void put(List roots, Indexed[] said, long asked) {
    if (asked != forgotten) return;
    if (known.size() + said.length > MOST) known.clear();
    for (int i = 0; i < said.length && i < MOST; i++) known.put(roots.get(i), said[i]);
  }

  public long forgotten() {
    return forgotten;
  }

  /** Python is to be asked of all of them. */
  public synchronized void forget() {
    forgotten++;
    known.clear();
  }
}
