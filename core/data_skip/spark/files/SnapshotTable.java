package data_skip;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;

/** A table that is read by the files of its index, and how it was asked for. */
public final class SnapshotTable {
  private static final String TIME_ZONE = "timeZone";

  public final SparkSession session;
  public final String uri;
  public final Path root;
  public final String contract;
  public final scala.collection.immutable.Map parameters;
  public final scala.collection.immutable.Map asMade; // with the time zone by which folders tell times, whatever the session's is later

  /** @param contract `snapshot`, or `bounded(60)`. */
  public SnapshotTable(SparkSession session, String uri, String contract, scala.collection.immutable.Map parameters) {
    this.session = session;
    this.uri = uri;
    this.root = path(uri);
    this.contract = contract;
    this.parameters = parameters;
    String zone = session.sessionState().conf().sessionLocalTimeZone();
    this.asMade = parameters.contains(TIME_ZONE) ? parameters : (scala.collection.immutable.Map) parameters.updated(TIME_ZONE, zone);
  }

  public static Path path(String uri) {
    return new Path(java.net.URI.create(uri));
  }

  public boolean equals(Object other) {
    if (!(other instanceof SnapshotTable)) return false;
    SnapshotTable that = (SnapshotTable) other;
    return uri.equals(that.uri) && contract.equals(that.contract) && session == that.session && asMade.equals(that.asMade);
  }

  public int hashCode() {
    return uri.hashCode();
  }
}
