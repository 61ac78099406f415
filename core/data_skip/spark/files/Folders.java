package data_skip;

import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/** The listed files of a version of an index by their folders, as KnownFiles.byFolder gives them. */
public final class Folders {
  private static final int BLOCK = 1 << 16; // bytes of paths that are looked at together: a buffer gives single ones slowly

  private final Versions known;
  private final Map filled = new LinkedHashMap(); // by its path, the places of its files with rows, an IntBuffer
  private final Map empty = new LinkedHashMap(); // by its path, a place: Spark reads no empty files, but takes the types of partitions from their folders

  /** The file versions of one version of an index: KnownFiles. */
  public interface Versions {
    int count();

    boolean isListed(int slot);

    long size(int slot);

    byte[] path(int slot);

    /** Where a path begins among those that lie in one file with it; of `count()` where the last one ends. */
    long start(int slot);

    byte[] bytes(long start, long end);
  }

  public Folders(Versions known) {
    this.known = known;
  }

  /** Those of an earlier version, as far as its files are listed in `known`; null where it takes a look at all to tell what they are. */
  public static Folders of(int[][] before, Versions earlier, Versions known) {
    boolean anyEmpty = false;
    for (int slot = 0; slot < earlier.count(); slot++) {
      if (!known.isListed(slot)) continue;
      if (!earlier.isListed(slot)) return null;
      anyEmpty |= known.size(slot) == 0;
    }
    Folders result = new Folders(known);
    for (int i = 0; i < before.length; i++) {
      int[] listed = listed(before[i], known);
      if (listed.length == 0 && anyEmpty) return null; // an empty file may stand for it, or another one
      if (listed.length == 0) continue;
      byte[] path = known.path(listed[0]);
      ByteBuffer folder = ByteBuffer.wrap(Arrays.copyOf(path, end(path, 0, path.length)));
      if (known.size(listed[0]) == 0) result.empty.put(folder, new Integer(listed[0]));
      else result.filled.put(folder, IntBuffer.wrap(listed).position(listed.length));
    }
    return result;
  }

  private static int[] listed(int[] slots, Versions known) {
    int count = 0;
    for (int i = 0; i < slots.length; i++) if (known.isListed(slots[i])) count++;
    if (count == slots.length) return slots;
    int[] result = new int[count];
    for (int i = 0, next = 0; i < slots.length; i++) if (known.isListed(slots[i])) result[next++] = slots[i];
    return result;
  }

  /** And those from a place on, up to the last whose path lies in one file, which `own` has mapped. flat: whether all lie in one folder. */
  public Folders with(Versions own, int first, boolean flat) {
    if (flat) return inOne(first, own.count());
    IntBuffer inside = null;
    byte[] folder = null; // of the last file
    byte[] block = new byte[0];
    long blockStart = 0;
    long blockEnd = 0;
    for (int slot = first; slot < own.count(); slot++) {
      if (!known.isListed(slot)) continue;
      if (own.start(slot + 1) > blockEnd) {
        blockStart = own.start(slot);
        blockEnd = Math.max(own.start(slot + 1), Math.min(blockStart + BLOCK, own.start(own.count())));
        block = own.bytes(blockStart, blockEnd);
      }
      int start = (int) (own.start(slot) - blockStart);
      int end = end(block, start, (int) (own.start(slot + 1) - blockStart));
      if (known.size(slot) == 0) {
        empty.putIfAbsent(ByteBuffer.wrap(Arrays.copyOfRange(block, start, end)), new Integer(slot));
        continue;
      }
      if (folder == null || !Arrays.equals(folder, 0, folder.length, block, start, end)) {
        folder = Arrays.copyOfRange(block, start, end);
        inside = (IntBuffer) filled.get(ByteBuffer.wrap(folder));
      }
      if (inside == null || !inside.hasRemaining()) filled.put(ByteBuffer.wrap(folder), inside = larger(inside));
      inside.put(slot);
    }
    return this;
  }

  private Folders inOne(int first, int end) {
    ByteBuffer folder = ByteBuffer.wrap(new byte[0]);
    IntBuffer before = (IntBuffer) filled.get(folder);
    IntBuffer inside = IntBuffer.allocate(end - first + (before == null ? 0 : before.position()));
    if (before != null) inside.put(before.array(), 0, before.position());
    for (int slot = first; slot < end; slot++) {
      if (!known.isListed(slot)) continue;
      if (known.size(slot) == 0) empty.putIfAbsent(folder, new Integer(slot));
      else inside.put(slot);
    }
    if (inside.position() > 0) filled.put(folder, inside);
    return this;
  }

  /** Where the folder of a path ends; a file whose name may say that it is no data is one by itself. */
  private static int end(byte[] paths, int start, int stop) {
    int end = stop;
    while (end > start && paths[end - 1] != '/') end--;
    return end < stop && (paths[end] == '_' || paths[end] == '.') ? stop : end;
  }

  private static IntBuffer larger(IntBuffer full) {
    IntBuffer result = IntBuffer.allocate(full == null ? 4 : 2 * full.capacity());
    if (full != null) result.put(full.array());
    return result;
  }

  public int[][] all() {
    empty.keySet().removeAll(filled.keySet());
    int[][] result = new int[filled.size() + empty.size()][];
    Iterator all = filled.values().iterator();
    Iterator others = empty.values().iterator();
    for (int i = 0; i < result.length; i++) {
      IntBuffer of = all.hasNext() ? (IntBuffer) all.next() : null;
      if (of == null) result[i] = new int[] {((Integer) others.next()).intValue()};
      else result[i] = of.hasRemaining() ? Arrays.copyOf(of.array(), of.position()) : of.array();
    }
    return result;
  }
}
