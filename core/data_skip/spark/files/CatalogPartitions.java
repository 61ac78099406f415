package data_skip;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils$;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/** The partitions of a table that the catalog knows: they alone are of the table, whatever other folders there are. */
public final class CatalogPartitions {
  private CatalogPartitions() {}

  /** Those that some predicates leave, as of now. IllegalStateException where one lies elsewhere than below the table's root. */
  public static PartitionSpec of(SnapshotTable table, scala.collection.immutable.Seq filters) throws java.io.IOException {
    SQLConf conf = table.session.sessionState().conf();
    StructType columns = table.catalog.partitionSchema();
    Configuration hadoop = table.session.sessionState().newHadoopConf();
    List paths = new ArrayList();
    scala.collection.Iterator found =
        ExternalCatalogUtils$.MODULE$.listPartitionsByFilter(conf, table.session.sessionState().catalog(), table.catalog, filters).iterator();
    while (found.hasNext()) {
      CatalogTablePartition partition = (CatalogTablePartition) found.next();
      Path path = new Path(partition.location());
      FileSystem files = path.getFileSystem(hadoop);
      path = path.makeQualified(files.getUri(), files.getWorkingDirectory());
      refuseElsewhere(path, table);
      paths.add(new PartitionPath(partition.toRow(columns, conf.sessionLocalTimeZone()), path));
    }
    return new PartitionSpec(columns, Plans.seq(paths));
  }

  /** IllegalStateException for a folder that is not below the table's root. */
  public static void refuseElsewhere(Path path, SnapshotTable table) {
    if (Plans.uri(path).startsWith(table.uri + "/")) return;
    throw new IllegalStateException("a partition lies at " + Plans.uri(path) + ", and the index tells of files below " + table.uri + " alone");
  }
}
