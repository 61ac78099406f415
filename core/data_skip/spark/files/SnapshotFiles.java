package data_skip;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;

/** Files of one version of an index: no object a file, but for those that are read, of which the file system is asked. */
public final class SnapshotFiles implements ListedFiles {
  private static final String IGNORE_MISSING = "ignoreMissingFiles";

  private final SnapshotTable table;
  private final SnapshotVersion version;
  private final List values;
  private final int[] ends;
  private final int[] slots; // of each place
  private final FileStatus[] asked; // of each place what the file system said, if it was asked
  private Configuration configuration; // made where the file system is asked

  private SnapshotFiles(SnapshotTable table, SnapshotVersion version, List values, int[] ends, int[] slots) {
    this.table = table;
    this.version = version;
    this.values = values;
    this.ends = ends;
    this.slots = slots;
    this.asked = new FileStatus[slots.length];
  }

  public SnapshotFiles(SnapshotTable table, SnapshotVersion version, scala.collection.immutable.Seq directories) {
    this.table = table;
    this.version = version;
    this.values = new ArrayList();
    this.ends = new int[directories.size()];
    List folders = new ArrayList();
    int count = 0;
    for (int d = 0; d < ends.length; d++) {
      PartitionDirectory directory = (PartitionDirectory) directories.apply(d);
      values.add(directory.values());
      for (int i = 0; i < directory.files().size(); i++) {
        Object first = ((FileStatusWithMetadata) directory.files().apply(i)).getPath();
        int[] inside = version.files[((Integer) version.folderOfFirst.get(first)).intValue()];
        folders.add(inside);
        count += inside.length;
      }
      ends[d] = count;
    }
    slots = new int[count];
    int next = 0;
    for (int i = 0; i < folders.size(); i++) {
      int[] inside = (int[]) folders.get(i);
      System.arraycopy(inside, 0, slots, next, inside.length);
      next += inside.length;
    }
    asked = new FileStatus[count];
  }

  /** Those that Spark leaves by what some predicates say of `_metadata`. */
  public SnapshotFiles only(scala.collection.immutable.Seq filters) {
    FileStatus[] all = new FileStatus[slots.length];
    for (int i = 0; i < all.length; i++) all[i] = asIndexed(i);
    List roots = new ArrayList();
    roots.add(table.root);
    scala.Option none = scala.Option.apply(null);
    Object flat = table.asMade.updated("recursiveFileLookup", "true");
    InMemoryFileIndex index = new InMemoryFileIndex(
        table.session, Plans.seq(roots), (scala.collection.immutable.Map) flat, none, new SnapshotVersion.Listed(all), none, none);
    scala.collection.immutable.Seq left = index.listFiles(Plans.noFilters(), filters);
    Set paths = new HashSet();
    for (int d = 0; d < left.size(); d++) {
      scala.collection.immutable.Seq inside = ((PartitionDirectory) left.apply(d)).files();
      for (int i = 0; i < inside.size(); i++) paths.add(((FileStatusWithMetadata) inside.apply(i)).getPath());
    }
    int[] kept = new int[slots.length];
    int[] keptEnds = new int[ends.length];
    int count = 0;
    for (int d = 0, i = 0; d < ends.length; d++) {
      for (; i < ends[d]; i++) if (paths.contains(all[i].getPath())) kept[count++] = slots[i];
      keptEnds[d] = count;
    }
    return new SnapshotFiles(table, version, values, keptEnds, Arrays.copyOf(kept, count));
  }

  private FileStatus asIndexed(int i) {
    return new FileStatus(size(i), false, 1, 1, modificationTime(i), path(i));
  }

  public int count() {
    return slots.length;
  }

  public int directories() {
    return ends.length;
  }

  public InternalRow values(int directory) {
    return (InternalRow) values.get(directory);
  }

  public int end(int directory) {
    return ends[directory];
  }

  public Path path(int i) {
    return SnapshotTable.path(version.known.uri(slots[i]));
  }

  public long size(int i) {
    return version.known.size(slots[i]);
  }

  public long modificationTime(int i) {
    return version.known.modificationTime(slots[i]);
  }

  public int slot(int i, KnownFiles known) {
    return known == version.known ? slots[i] : known.slot(version.known.uri(slots[i]), size(i), modificationTime(i));
  }

  public boolean holds(int i, Freshness freshness) {
    return true;
  }

  public Path folderToLookAt(int i) {
    return null;
  }

  public boolean isChanged(int i) {
    return asked[i] != null && (asked[i].getLen() != size(i) || asked[i].getModificationTime() != modificationTime(i));
  }

  public FileStatusWithMetadata[] read(int[] chosen) throws IOException {
    List paths = new ArrayList();
    List places = new ArrayList();
    for (int i = 0; i < chosen.length; i++) {
      if (asked[chosen[i]] != null) continue;
      places.add(new Integer(chosen[i]));
      paths.add(path(chosen[i]));
    }
    FileStatus[] now = FilesNow.of(paths, configuration());
    for (int i = 0; i < now.length; i++) asked[((Integer) places.get(i)).intValue()] = now[i];
    List found = new ArrayList();
    Set seen = new HashSet(); // refreshes at one time may list two versions of a file that is there once
    for (int i = 0; i < chosen.length; i++) {
      FileStatus file = asked[chosen[i]];
      if (file == null && !ignoresMissing()) {
        throw new FileNotFoundException(path(chosen[i]) + " is gone, and stands in version " + version.number + " of the index of " + table.uri
            + ": Table.refresh() brings that up to date");
      }
      if (file != null && file.getLen() > 0 && seen.add(file.getPath())) found.add(withMetadata(file));
    }
    return (FileStatusWithMetadata[]) found.toArray(new FileStatusWithMetadata[0]);
  }

  public FileStatusWithMetadata listed(int i) {
    return withMetadata(asked[i] == null ? asIndexed(i) : asked[i]);
  }

  public String contract() {
    return table.contract + " " + version.number;
  }

  /** Made once, however many folders are read: it is a copy of all settings. */
  private Configuration configuration() {
    if (configuration == null) configuration = table.session.sessionState().newHadoopConfWithOptions(table.parameters);
    return configuration;
  }

  private static FileStatusWithMetadata withMetadata(FileStatus file) {
    return new FileStatusWithMetadata(file, scala.collection.immutable.Map$.MODULE$.empty());
  }

  private boolean ignoresMissing() {
    scala.Option option = table.parameters.get(IGNORE_MISSING); // in any letters: Spark keeps options so
    if (option.isDefined()) return Boolean.parseBoolean((String) option.get());
    return table.session.sessionState().conf().ignoreMissingFiles();
  }
}
