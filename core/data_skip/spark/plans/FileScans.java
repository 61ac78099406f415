package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/** The scans of files in a plan: those whose files could be chosen, and what is known of the rows of one. */
public final class FileScans {
  private FileScans() {}

  /** The scans of a plan and its sub-queries whose files could be chosen. */
  public static List of(LogicalPlan plan) {
    return new ArrayList(scala.jdk.javaapi.CollectionConverters.asJava(plan.collectWithSubqueries(
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object node) {
            return node instanceof LogicalRelation && eligible((LogicalRelation) node);
          }

          public Object applyOrElse(Object node, scala.Function1 otherwise) {
            return isDefinedAt(node) ? node : otherwise.apply(node);
          }
        })));
  }

  /** Whether a scan reads files that a FileIndex of Spark's own lists, or one of ours by the files of an index. */
  private static boolean eligible(LogicalRelation scan) {
    if (scan.isStreaming() || !(scan.relation() instanceof HadoopFsRelation)) return false;
    FileIndex location = ((HadoopFsRelation) scan.relation()).location();
    return location instanceof PartitioningAwareFileIndex || location instanceof CatalogFileIndex || location instanceof SnapshotFileIndex;
  }

  /** A plan whose scans list what they listed before they were wrapped. */
  public static LogicalPlan unwrapped(LogicalPlan plan) {
    return Plans.withNodes(plan, new Function() {
      public Object apply(Object node) {
        FileIndex wrapped = wrapped(node);
        return wrapped == null ? null : Relations.withLocation((LogicalRelation) node, wrapped);
      }
    });
  }

  /** What a scan listed before it was wrapped; null for another node. */
  private static FileIndex wrapped(Object node) {
    if (!(node instanceof LogicalRelation) || !(((LogicalRelation) node).relation() instanceof HadoopFsRelation)) return null;
    FileIndex location = ((HadoopFsRelation) ((LogicalRelation) node).relation()).location();
    return location instanceof SkippingFileIndex ? ((SkippingFileIndex) location).wrapped() : null;
  }

  /** A scan, and what is known of its rows; null where nothing is. why: see Contracts.followed. */
  public static AskedScan asked(LogicalRelation scan, Place place, SparkSession asking, SideTime time, Map why) {
    if (!eligible(scan)) return null;
    List predicates = place.given.predicates();
    List runtimeFilters = place.given.runtimeFilters();
    if (predicates.isEmpty() && runtimeFilters.isEmpty() && !Contracts.told(Collections.singletonList(scan), why)) return null;
    List affordable = runtimeFilters;
    if (predicates.isEmpty()) affordable = RuntimeFilters.affordable(affordable, ((HadoopFsRelation) scan.relation()).location());
    Expression predicate = predicates.isEmpty() ? Literal$.MODULE$.TrueLiteral() : (Expression) predicates.get(0);
    for (int i = 1; i < predicates.size(); i++) predicate = new And(predicate, (Expression) predicates.get(i));
    List tried = affordable.isEmpty() ? runtimeFilters : affordable;
    return new AskedScan(scan, place.asked(), predicate, tried, asking, time, Contracts.whyListed(scan, why));
  }
}
