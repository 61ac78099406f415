package data_skip;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;

/** The files that a scan would read, by their places: those of its first directory, those of its second, ... */
public interface ListedFiles {
  int count();

  int directories();

  InternalRow values(int directory);

  /** The place behind the last file of a directory. */
  int end(int directory);

  Path path(int file);

  long size(int file);

  long modificationTime(int file);

  /** The place of a file's version in a snapshot, -1 where it has none. */
  int slot(int file, KnownFiles known);

  /** Whether a file may be skipped by what is known of the version that was listed. */
  boolean holds(int file, Freshness freshness);

  /** The folder that Freshness lists before it says whether a file may be skipped; null where it looks at the file, or at nothing. */
  Path folderToLookAt(int file);

  /** Some of the files, for Spark to read. */
  FileStatusWithMetadata[] read(int[] files) throws java.io.IOException;

  /** Whether a file is known to be another by now than the version that is listed. */
  boolean isChanged(int file);

  /** A file as far as it is known, for its size: the file system is not asked. */
  FileStatusWithMetadata listed(int file);

  /** What of it is told to people: by which contract the files are listed, with the version of the index, as `snapshot 7`. */
  String contract();

  /** As Spark lists them. */
  public static final class BySpark implements ListedFiles {
    private final List directories = new ArrayList();
    private final List files = new ArrayList();
    private final int[] ends;

    public BySpark(scala.collection.immutable.Seq listed) {
      scala.collection.Iterator iterator = listed.iterator();
      ends = new int[listed.size()];
      while (iterator.hasNext()) {
        PartitionDirectory directory = (PartitionDirectory) iterator.next();
        scala.collection.Iterator inside = directory.files().iterator();
        while (inside.hasNext()) files.add(inside.next());
        ends[directories.size()] = files.size();
        directories.add(directory);
      }
    }

    private FileStatusWithMetadata file(int i) {
      return (FileStatusWithMetadata) files.get(i);
    }

    public int count() {
      return files.size();
    }

    public int directories() {
      return ends.length;
    }

    public InternalRow values(int directory) {
      return ((PartitionDirectory) directories.get(directory)).values();
    }

    public int end(int directory) {
      return ends[directory];
    }

    public Path path(int i) {
      return file(i).getPath();
    }

    public long size(int i) {
      return file(i).getLen();
    }

    public long modificationTime(int i) {
      return file(i).getModificationTime();
    }

    public int slot(int i, KnownFiles known) {
      return known.slot(Plans.uri(path(i)), size(i), modificationTime(i));
    }

    public boolean holds(int i, Freshness freshness) {
      return freshness.holds(file(i));
    }

    public Path folderToLookAt(int i) {
      return "file".equals(path(i).toUri().getScheme()) ? null : path(i).getParent();
    }

    public FileStatusWithMetadata[] read(int[] chosen) {
      FileStatusWithMetadata[] result = new FileStatusWithMetadata[chosen.length];
      for (int i = 0; i < chosen.length; i++) result[i] = file(chosen[i]);
      return result;
    }

    public boolean isChanged(int i) {
      return false;
    }

    public FileStatusWithMetadata listed(int i) {
      return file(i);
    }

    public String contract() {
      return "listing";
    }
  }
}
