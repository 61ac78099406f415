package data_skip;

import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A relation over just these files of another one: for collecting an index. It may number them, in one more partition column. */
public final class ChosenFiles implements FileIndex {
  private final FileIndex wrapped;
  private final StructType partitionSchema;
  private final scala.collection.immutable.Seq directories;

  /** number: the name of the column that tells each file's place in the listing; null for none. */
  public ChosenFiles(FileIndex wrapped, Listing listing, String number) {
    this.wrapped = wrapped;
    this.partitionSchema = number == null ? wrapped.partitionSchema() : wrapped.partitionSchema().add(number, DataTypes.IntegerType);
    this.directories = number == null ? listing.kept() : listing.numbered();
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
    return partitionSchema;
  }

  public scala.Option metadataOpsTimeNs() {
    return wrapped.metadataOpsTimeNs();
  }
}
