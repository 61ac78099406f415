package data_skip;

import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.StructType;

/** A relation over just these files of another one: for collecting an index. */
public final class ChosenFiles implements FileIndex {
  private final FileIndex wrapped;
  private final scala.collection.immutable.Seq directories;

  public ChosenFiles(FileIndex wrapped, Listing listing) {
    this.wrapped = wrapped;
    this.directories = listing.kept();
  }

  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    return directories;
  }

  public scala.collection.immutable.Seq rootPaths() {
    return wrapped.rootPaths();
  }

  public String[] inputFiles() {
    return wrapped.inputFiles();
  }

  public void refresh() {}

  public long sizeInBytes() {
    return wrapped.sizeInBytes();
  }

  public StructType partitionSchema() {
    return wrapped.partitionSchema();
  }

  public scala.Option metadataOpsTimeNs() {
    return wrapped.metadataOpsTimeNs();
  }
}
