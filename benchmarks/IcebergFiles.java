package benchmarks;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Map;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;

/** Files of an Iceberg table that do not exist, as a benchmark of planning asks for none of them. */
public final class IcebergFiles {
  private static final int OF_A_COMMIT = 100000;

  private IcebergFiles() {}

  /** Adds so many files to a table of one BIGINT column: the first holds the values 0 to rows - 1, the next rows to 2 rows - 1, ... */
  public static void append(Table table, long files, long rows, String name) {
    for (long start = 0; start < files; start += OF_A_COMMIT) {
      AppendFiles append = table.newFastAppend();
      for (long i = start; i < Math.min(files, start + OF_A_COMMIT); i++) {
        DataFiles.Builder file = DataFiles.builder(PartitionSpec.unpartitioned()).withFormat(FileFormat.PARQUET);
        file.withPath(table.location() + "/data/" + String.format(name, new Object[] {new Long(i), new Long(i % 10000)}));
        append.appendFile(file.withFileSizeInBytes(1000000 + i).withMetrics(metrics(rows, rows * i)).build());
      }
      append.commit();
    }
  }

  private static Metrics metrics(long rows, long low) {
    Map counts = Collections.singletonMap(new Integer(1), new Long(rows));
    Map nulls = Collections.singletonMap(new Integer(1), new Long(0));
    return new Metrics(new Long(rows), null, counts, nulls, null, bound(low), bound(low + rows - 1));
  }

  private static Map bound(long value) {
    ByteBuffer bytes = Conversions.toByteBuffer(Types.LongType.get(), new Long(value));
    return Collections.singletonMap(new Integer(1), bytes);
  }
}
