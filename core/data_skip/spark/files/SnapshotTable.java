package data_skip;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/** A table that is read by the files of its index, and how it was asked for. */
public final class SnapshotTable {
  private static final String[] CHOOSING = {
    "ignoredPathSegmentRegex", "spark.sql.files.ignoredPathSegmentRegex", // since Spark 4.3
    "spark.sql.streaming.fileStreamSink.ignoreMetadata", // or what a stream has written in whole
    "mapreduce.input.pathFilter.class", "mapred.input.pathFilter.class" // of Hadoop
  };

  public static final String TIME_ZONE = "timeZone";
  private static final String RECURSIVE = "recursiveFileLookup";

  public final SparkSession session;
  public final String uri;
  public final Path root;
  public final String contract;
  public final String asked; // what in words asks for the contract
  public final boolean bySetting; // or the property of a table, and no `Table.read`
  public final CatalogTable catalog; // where that says which partitions there are, else null
  public final scala.collection.immutable.Map parameters;
  public final scala.collection.immutable.Map asMade; // with the time zone by which folders tell times, whatever the session's is later

  /** @param contract `snapshot`, or `bounded(60)`. setting: what asks for it, as `spark.data_skip.freshness=snapshot`; null: `Table.read`. */
  public SnapshotTable(
      SparkSession session, String uri, String contract, scala.collection.immutable.Map parameters, String setting, CatalogTable catalog) {
    refuseChoosing(session, parameters);
    this.session = session;
    this.uri = uri;
    this.root = path(uri);
    this.contract = contract;
    this.bySetting = setting != null;
    this.asked = bySetting ? setting : "freshness='" + contract + "'";
    this.catalog = catalog;
    this.parameters = parameters;
    String zone = session.sessionState().conf().sessionLocalTimeZone();
    this.asMade = parameters.contains(TIME_ZONE) ? parameters : (scala.collection.immutable.Map) parameters.updated(TIME_ZONE, zone);
  }

  /** IllegalStateException where an option, or a setting of Spark or Hadoop, says which files are read: the index is of others, perhaps. */
  private static void refuseChoosing(SparkSession session, scala.collection.immutable.Map parameters) {
    SQLConf conf = session.sessionState().conf();
    for (int i = 0; i < CHOOSING.length; i++) {
      boolean set = conf.contains(CHOOSING[i]) && !"false".equalsIgnoreCase(conf.getConfString(CHOOSING[i]));
      set = set || parameters.contains(CHOOSING[i]) || session.sparkContext().hadoopConfiguration().get(CHOOSING[i]) != null;
      if (set) throw new IllegalStateException(CHOOSING[i] + " chooses files, and the index is of others, perhaps");
    }
  }

  /** What is read of the folder: "" of a path, "recursive" with files in folders that are no partitions; of a table of the catalog, whose partitions alone are, its name. */
  public String part() {
    if (catalog != null) return catalog.identifier().quotedString();
    scala.Option recursive = parameters.get(RECURSIVE); // in any letters: Spark keeps options so
    return recursive.isDefined() && Boolean.parseBoolean((String) recursive.get()) ? "recursive" : "";
  }

  public static Path path(String uri) {
    return new Path(java.net.URI.create(uri));
  }

  public boolean equals(Object other) {
    if (!(other instanceof SnapshotTable)) return false;
    SnapshotTable that = (SnapshotTable) other;
    boolean same = uri.equals(that.uri) && contract.equals(that.contract) && session == that.session && asMade.equals(that.asMade);
    if (catalog == null || that.catalog == null) return same && catalog == that.catalog;
    return same && catalog.identifier().equals(that.catalog.identifier());
  }

  public int hashCode() {
    return uri.hashCode();
  }
}
