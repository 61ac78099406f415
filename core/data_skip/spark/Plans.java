package data_skip;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.optimizer.PushPredicateThroughJoin$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.UnknownRuleId$;
import org.apache.spark.sql.catalyst.trees.TreePatternBits;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.StringType;

/** What reading and rewriting Catalyst's plans needs in more than one place. */
public final class Plans {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final List FORMATS =
      java.util.Arrays.asList(
          new String[] {
            "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
            "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat",
            "org.apache.spark.sql.execution.datasources.csv.CSVFileFormat",
            "org.apache.spark.sql.execution.datasources.json.JsonFileFormat",
            "org.apache.spark.sql.execution.datasources.text.TextFileFormat",
            "org.apache.spark.sql.avro.AvroFileFormat",
          });
  private static final List NAMES = java.util.Arrays.asList(new String[] {"parquet", "orc", "csv", "json", "text", "avro"});

  private Plans() {}

  /**
   * The one form of a path, that of `_metadata.file_path`: an escaped URI, without an empty authority. Hadoop takes a scheme in any letters, and
   * lists files by its own.
   */
  public static String uri(org.apache.hadoop.fs.Path path) {
    java.net.URI uri = path.toUri();
    String scheme = String.valueOf(uri.getScheme()).toLowerCase(java.util.Locale.ROOT);
    return scheme + ":" + (uri.getRawAuthority() == null ? "" : "//" + uri.getRawAuthority()) + uri.getRawPath();
  }

  /** The short name of a format; of another class than Spark's own for that name, as table formats have, its class: it may make other rows. */
  public static String formatName(Object format) {
    String name = format.getClass().getName();
    if (!(format instanceof org.apache.spark.sql.sources.DataSourceRegister)) return name;
    String registered = ((org.apache.spark.sql.sources.DataSourceRegister) format).shortName();
    return FORMATS.contains(name) || !NAMES.contains(registered) ? registered : name;
  }

  public static boolean isSparks(Object format) {
    return FORMATS.contains(format.getClass().getName());
  }

  public static String json(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  public static scala.collection.immutable.Seq seq(List list) {
    return scala.jdk.javaapi.CollectionConverters.asScala(list).toSeq();
  }

  public static scala.collection.immutable.Seq noFilters() {
    return seq(new ArrayList());
  }

  /** The plan with those of its expressions rewritten that hold a pattern: of most plans none does, and they stay as they are. */
  public static LogicalPlan withExpressions(LogicalPlan plan, final scala.Enumeration.Value pattern, scala.PartialFunction rule) {
    if (!plan.containsPattern(pattern)) return plan;
    return (LogicalPlan) plan.transformAllExpressionsWithPruning(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object patterns) {
            return Boolean.valueOf(((TreePatternBits) patterns).containsPattern(pattern));
          }
        },
        UnknownRuleId$.MODULE$,
        rule);
  }

  /** The plan, and its sub-queries, with another node wherever `other` gives one: (a node) -> LogicalPlan, or null where that stays. */
  public static LogicalPlan withNodes(LogicalPlan plan, final Function other) {
    return (LogicalPlan) plan.transformUpWithSubqueries(
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object node) {
            return other.apply(node) != null;
          }

          public Object applyOrElse(Object node, scala.Function1 otherwise) {
            Object made = other.apply(node);
            return made == null ? otherwise.apply(node) : made;
          }
        });
  }

  public static Alias alias(Expression expression, String name) {
    return new Alias(expression, name, NamedExpression$.MODULE$.newExprId(), noFilters(), scala.Option.apply(null), noFilters());
  }

  /** What a cache was made of. */
  public static LogicalPlan cached(InMemoryRelation cache) {
    return cache.cacheBuilder().logicalPlan();
  }

  /** The operands of a chain of ANDs. */
  public static List conjuncts(Expression expression) {
    return new ArrayList(
        scala.jdk.javaapi.CollectionConverters.asJava(PushPredicateThroughJoin$.MODULE$.splitConjunctivePredicates(expression)));
  }

  /** Whether values of a type are equal only where they are the same: not 0.0 and -0.0, nor 'z' and 'Z' where a collation says so. */
  public static boolean exact(DataType type) {
    return !type.existsRecursively(new scala.runtime.AbstractFunction1() {
      public Object apply(Object part) {
        boolean collated = part instanceof StringType && !((StringType) part).supportsBinaryEquality();
        return Boolean.valueOf(collated || part instanceof FloatType || part instanceof DoubleType);
      }
    });
  }

  /** The expression, with no more than the columns of its scalar sub-queries: their plans hold lists of files. */
  public static Expression withoutQueries(Expression expression) {
    if (expression instanceof ScalarSubquery) {
      LogicalPlan plan = (LogicalPlan) ((ScalarSubquery) expression).plan();
      return (Expression) ((ScalarSubquery) expression).withNewPlan(LocalRelation$.MODULE$.apply(plan.output()));
    }
    if (!SubqueryExpression$.MODULE$.hasSubquery(expression)) return expression;
    return (Expression) expression.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return withoutQueries((Expression) child);
          }
        });
  }

  /** Spark's number of the running query; "" outside of one. What runs for a join belongs to its query. */
  public static String executionId(SparkSession session) {
    String id = session.sparkContext().getLocalProperty("spark.sql.execution.root.id");
    return id == null ? "" : id;
  }

  /** Whether an expression, or a part of it, is of a kind. */
  public static boolean holds(Expression expression, Class kind) {
    if (kind.isInstance(expression)) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (holds((Expression) children.next(), kind)) return true;
    return false;
  }
}
