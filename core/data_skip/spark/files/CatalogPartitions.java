package data_skip;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/** The partitions of a table that the catalog knows: they alone are of the table, whatever other folders there are. */
public final class CatalogPartitions {
  private CatalogPartitions() {}

  /**
   * Those that some predicates leave, as of now. IllegalStateException where one lies elsewhere than below the table's root.
   *
   * only: the folders of some, the others of which are left out; null: none is.
   */
  public static PartitionSpec of(SnapshotTable table, scala.collection.immutable.Seq filters, Set only) throws java.io.IOException {
    StructType columns = table.catalog.partitionSchema();
    Configuration hadoop = table.session.sessionState().newHadoopConf();
    List paths = new ArrayList();
    scala.collection.Iterator found = found(table.session, table.catalog, filters);
    while (found.hasNext()) {
      CatalogTablePartition partition = (CatalogTablePartition) found.next();
      Path path = new Path(partition.location());
      FileSystem files = path.getFileSystem(hadoop);
      path = path.makeQualified(files.getUri(), files.getWorkingDirectory());
      if (only != null && !only.contains(path)) continue;
      refuseElsewhere(path, table);
      paths.add(new PartitionPath(partition.toRow(columns, table.session.sessionState().conf().sessionLocalTimeZone()), path));
    }
    return new PartitionSpec(columns, Plans.seq(paths));
  }

  private static scala.collection.Iterator found(SparkSession session, CatalogTable table, scala.collection.immutable.Seq filters) {
    SQLConf conf = session.sessionState().conf();
    return ExternalCatalogUtils$.MODULE$.listPartitionsByFilter(conf, session.sessionState().catalog(), table, filters).iterator();
  }

  /** The folders of all partitions that the catalog knows of a table: none where it knows no partitions. */
  public static List locations(SparkSession session, CatalogTable table) {
    List paths = new ArrayList();
    if (!table.tracksPartitionsInCatalog() || table.partitionColumnNames().isEmpty()) return paths;
    scala.collection.Iterator found = found(session, table, Plans.noFilters());
    while (found.hasNext()) paths.add(new Path(((CatalogTablePartition) found.next()).location()));
    return paths;
  }

  /** IllegalStateException for a folder that is not below the table's root. */
  public static void refuseElsewhere(Path path, SnapshotTable table) {
    if (Plans.uri(path).startsWith(table.uri + "/")) return;
    throw new IllegalStateException("a partition lies at " + Plans.uri(path) + ", and the index tells of files below " + table.uri + " alone");
  }
}
