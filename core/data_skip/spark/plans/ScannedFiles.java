package data_skip;

import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.TextBasedFileFormat;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;

/** The files of a scan, and what reading some of its columns costs: an estimate, in bytes. */
public final class ScannedFiles {
  /** Of any file so much is read as of all of its columns: its footer, and what opening it takes. */
  public static final long WHOLE = 1 << 16;

  private static final int UNPACKED = 8; // bytes of text for one of a packed file

  private ScannedFiles() {}

  /** A FileIndex that lists some of the files of another one. */
  public interface Wrapper {
    FileIndex wrapped();
  }

  /** What lists the files of a scan; null where it reads another source than a fixed list of files. */
  public static PartitioningAwareFileIndex listed(LogicalRelation scan) {
    if (!(scan.relation() instanceof HadoopFsRelation)) return null;
    FileIndex location = ((HadoopFsRelation) scan.relation()).location();
    if (location instanceof Wrapper) location = ((Wrapper) location).wrapped();
    return location instanceof PartitioningAwareFileIndex ? (PartitioningAwareFileIndex) location : null;
  }

  /** The share of a file that is read for some columns (null: all), by the sizes of their types: 1 where a format keeps rows together. */
  private static double share(LogicalRelation scan, AttributeSet asked) {
    HadoopFsRelation files = (HadoopFsRelation) scan.relation();
    boolean byColumn = files.fileFormat() instanceof ParquetFileFormat || files.fileFormat() instanceof OrcFileFormat;
    if (!byColumn || asked == null) return 1;
    StructType schema = files.dataSchema();
    long all = schema.defaultSize();
    return all == 0 ? 1 : Math.min(1, (double) size(scan, asked) / all);
  }

  /** What is read for some columns of a file of which so much is read as a whole, for one byte of the rest: more of packed text. */
  public static double factor(LogicalRelation scan, AttributeSet asked) {
    PartitioningAwareFileIndex listed = listed(scan);
    CompressionCodecFactory codecs = listed == null ? null : codecs(scan);
    if (codecs == null) return share(scan, asked);
    scala.collection.Iterator all = listed.allFiles().iterator();
    return all.hasNext() && codecs.getCodec(((FileStatus) all.next()).getPath()) != null ? UNPACKED : 1;
  }

  /** What tells packed files of text; null for another format: columns of Parquet are packed as well, but those that are read are few. */
  private static CompressionCodecFactory codecs(LogicalRelation scan) {
    HadoopFsRelation files = (HadoopFsRelation) scan.relation();
    if (!(files.fileFormat() instanceof TextBasedFileFormat)) return null;
    return new CompressionCodecFactory(((SparkSession) files.sparkSession()).sparkContext().hadoopConfiguration());
  }

  /** The bytes of a row's values in some columns (null: all), where all of them are of fixed size; else -1. */
  public static long rowBytes(LogicalRelation scan, AttributeSet asked) {
    scala.collection.Iterator output = scan.output().iterator();
    while (output.hasNext()) {
      Attribute attribute = (Attribute) output.next();
      if (isRead(scan, attribute, asked) && !isFixed(attribute.dataType())) return -1;
    }
    return size(scan, asked);
  }

  private static long size(LogicalRelation scan, AttributeSet asked) {
    long size = 0;
    scala.collection.Iterator output = scan.output().iterator();
    while (output.hasNext()) {
      Attribute attribute = (Attribute) output.next();
      if (isRead(scan, attribute, asked)) size += attribute.dataType().defaultSize();
    }
    return size;
  }

  private static boolean isRead(LogicalRelation scan, Attribute attribute, AttributeSet asked) {
    if (asked != null && !asked.contains(attribute)) return false;
    return ((HadoopFsRelation) scan.relation()).dataSchema().getFieldIndex(attribute.name()).isDefined();
  }

  private static boolean isFixed(DataType type) {
    return type instanceof AtomicType && !(type instanceof StringType) && !(type instanceof BinaryType) && !(type instanceof VariantType);
  }

  /** The bytes that are read for some columns (null: all) of all files: those of text as they are once unpacked. */
  public static long bytes(LogicalRelation scan, AttributeSet asked) {
    double share = share(scan, asked);
    CompressionCodecFactory codecs = codecs(scan);
    long total = 0;
    scala.collection.Iterator all = listed(scan).allFiles().iterator();
    while (all.hasNext()) {
      FileStatus file = (FileStatus) all.next();
      boolean packed = codecs != null && codecs.getCodec(file.getPath()) != null;
      long whole = Math.min(WHOLE, file.getLen());
      total += packed ? UNPACKED * file.getLen() : whole + (long) (share * (file.getLen() - whole));
    }
    return total;
  }
}
