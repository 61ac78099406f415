package data_skip;

import com.fasterxml.jackson.databind.util.RawValue;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;

/** What Python is told of a scan and its listings, in JSON. */
public final class Told {
  private final LogicalRelation scan;
  private final HadoopFsRelation relation;
  private final AttributeSet asked;
  private final Expression predicate;
  private final List runtimeFilters;
  private final List notes;
  private final SparkSession asking;
  private final ScanTrees trees;
  private String description;

  /** asked, predicate, runtimeFilters: as of AskedScan. notes: for people. trees: which are numbered as the predicate is told. */
  public Told(
      LogicalRelation scan, AttributeSet asked, Expression predicate, List runtimeFilters, List notes, SparkSession asking, ScanTrees trees) {
    this.scan = scan;
    this.relation = (HadoopFsRelation) scan.relation();
    this.asked = asked;
    this.predicate = predicate;
    this.runtimeFilters = runtimeFilters;
    this.notes = notes;
    this.asking = asking;
    this.trees = trees;
  }

  /** The root paths; of a catalog table first its location. */
  public String roots() {
    return Plans.json(Description.roots(scan));
  }

  /**
   * Format, options, schema, the encoded predicate, the runtime filters, notes, and how long a decision may take. Made when it is first
   * asked for: scans of tables without an index are many.
   */
  public synchronized String description() {
    if (description == null) {
      SQLConf settings = asking.sessionState().conf();
      Map json = Description.of(scan);
      json.put("predicate", predicate == null ? null : trees.encode(predicate));
      json.put("runtime_filters", Description.of(runtimeFilters, scan));
      if (!runtimeFilters.isEmpty()) json.put("reads", Description.of(scan, asked));
      List all = new ArrayList(notes);
      all.addAll(UserSettings.unreadable(settings));
      json.put("notes", all);
      json.put("least_gain", new Long(UserSettings.joinLeastBytes(settings)));
      json.put("decide_seconds", new Double(UserSettings.decideSeconds(settings)));
      json.put("records_bytes", new Long(UserSettings.recordsMaxBytes(settings)));
      description = Plans.json(json);
    }
    return description;
  }

  /**
   * What is set in the session of the relation, by which Spark configures its reader, and, where that is another, in that of the query,
   * which readers and expressions ask as well.
   */
  public String settings() {
    return Plans.json(settingsOfBoth());
  }

  private RawValue settingsOfBoth() {
    return SessionSettings.of((SparkSession) relation.sparkSession(), asking);
  }

  /** What is told beside the description of every scan: a line. */
  public String ofScan() {
    return Plans.json(parts());
  }

  /** Two lines: of a listing all that Python asks of each; and the description. Where the same is planned again, they are the same. */
  public String of(Listing listing) {
    Map json = parts();
    List roots = (List) json.get("roots");
    json.put("count", new Integer(listing.count()));
    json.put("bytes", new Long(listing.bytes()));
    if (!roots.isEmpty()) json.put("present", listing.presentOf((String) roots.get(0)));
    json.put("contract", listing.contract());
    if (listing.job() != null) json.put("tasks", listing.job().told());
    json.put("refusals", RuntimeFilters.refusals(runtimeFilters, asking.sessionState().conf()));
    return Plans.json(json) + "\n" + description();
  }

  private Map parts() {
    Map json = new LinkedHashMap();
    json.put("format", Plans.formatName(relation.fileFormat()));
    json.put("roots", Description.roots(scan));
    json.put("settings", settingsOfBoth());
    return json;
  }
}
