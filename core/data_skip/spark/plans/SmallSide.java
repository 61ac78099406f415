package data_skip;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UnaryExpression;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.TextBasedFileFormat;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.unsafe.Platform;

/**
 * A part of the query that is run by itself before the files of another part are listed: one side of a join, or a sub-query.
 *
 * Spark runs it again for the join. So only what surely gives the same rows twice is fit: known operators over lists of files that
 * are fixed, caches and literal rows; no LIMIT, nothing random, no sum of floating point numbers, whose last digits depend on the order.
 */
public final class SmallSide {
  private static final ThreadLocal RUNNING = new ThreadLocal();
  private static final int UNPACKED = 8; // bytes of text for one of a packed file
  private static final int BYTES_OF_A_PAIR = 10; // of rows that are compared: a tenth of a microsecond, in which so many are read
  private static final String KEYS = "data-skip: keys of a join";

  private SmallSide() {}

  /** A FileIndex that lists some of the files of another one. */
  public interface Wrapper {
    FileIndex wrapped();
  }

  /** Somebody has cancelled what was run: then the query that it was run for ends as well, with what Spark raised. */
  public static final class Cancelled extends Error {
    Cancelled(Throwable raised) {
      super(String.valueOf(raised.getMessage()), raised);
    }
  }

  /** Whether this thread is planning a small side. */
  public static boolean running() {
    return RUNNING.get() != null;
  }

  /** Why a plan may give other rows when it is run again; null where it surely gives the same. */
  public static String unrepeatable(LogicalPlan plan) {
    String why = unrepeatableAnywhere(plan);
    return why == null && hasRealExtremes(plan) && !onTop(plan) ? "the smallest of 0.0 and -0.0 may be either" : why;
  }

  /** Whether a plan holds a smallest or largest floating point number, which may be 0.0 or -0.0 where both are there. */
  public static boolean hasRealExtremes(LogicalPlan plan) {
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (expressions.hasNext()) if (isRealExtreme((Expression) expressions.next())) return true;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) if (hasRealExtremes((LogicalPlan) children.next())) return true;
    return false;
  }

  private static boolean isRealExtreme(Expression expression) {
    if (expression instanceof Min || expression instanceof Max) return isReal(expression.dataType());
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (isRealExtreme((Expression) children.next())) return true;
    return false;
  }

  public static boolean isZero(Object value) {
    return (value instanceof Double || value instanceof Float) && ((Number) value).doubleValue() == 0;
  }

  private static boolean isReal(DataType type) {
    return type instanceof DoubleType || type instanceof FloatType;
  }

  /** Whether the plan's own rows show the smallest and largest numbers as they are, and nothing else depends on them. */
  private static boolean onTop(LogicalPlan plan) {
    scala.collection.Iterator expressions = plan.expressions().iterator();
    if (plan instanceof Aggregate) {
      while (expressions.hasNext()) if (!onlyOfZero((Expression) expressions.next())) return false;
      return !hasRealExtremes((LogicalPlan) plan.children().head());
    }
    if (!(plan instanceof Project) && !(plan instanceof Filter) && !(plan instanceof SubqueryAlias)) return false;
    while (expressions.hasNext()) {
      List parts = Plans.conjuncts((Expression) expressions.next());
      for (int i = 0; i < parts.size(); i++) {
        Object part = parts.get(i);
        if (part instanceof Alias || part instanceof IsNotNull) part = ((UnaryExpression) part).child();
        if (!(part instanceof Attribute)) return false;
      }
    }
    return onTop((LogicalPlan) plan.children().head());
  }

  /** Whether an expression shows the sign of a zero below as the sign of a zero, and nowhere else. */
  private static boolean onlyOfZero(Expression expression) {
    if (!isRealExtreme(expression) || expression instanceof AggregateExpression) return true;
    boolean sum = expression instanceof Add || expression instanceof Subtract || expression instanceof Multiply || expression instanceof UnaryMinus;
    boolean number = expression instanceof Cast && expression.dataType() instanceof NumericType;
    if (!sum && !number && !(expression instanceof Alias)) return false;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (!onlyOfZero((Expression) children.next())) return false;
    return true;
  }

  private static String unrepeatableAnywhere(LogicalPlan plan) {
    if (plan.isStreaming()) return "it is a stream";
    if (plan instanceof LogicalRelation) return fixed((LogicalRelation) plan) ? null : "it reads another source than a fixed list of files";
    boolean leaf = plan instanceof LocalRelation || plan instanceof Range || plan instanceof OneRowRelation || plan instanceof InMemoryRelation;
    boolean known = plan instanceof Project || plan instanceof Filter || plan instanceof Aggregate || plan instanceof Join;
    if (!leaf && !known && !(plan instanceof Union) && !(plan instanceof Distinct) && !(plan instanceof SubqueryAlias)) {
      if (plan instanceof org.apache.spark.sql.execution.LogicalRDD) return "an RDD may give other rows each time: cache() the DataFrame, or write it to files";
      return plan.nodeName() + " may give other rows each time";
    }
    if (plan instanceof InMemoryRelation && !((InMemoryRelation) plan).cacheBuilder().storageLevel().useDisk()) {
      String why = unrepeatable(((InMemoryRelation) plan).cacheBuilder().logicalPlan());
      if (why != null) return "it is cached in memory only, and may be computed again: " + why;
    }
    scala.collection.Iterator keys = plan instanceof Aggregate ? ((Aggregate) plan).groupingExpressions().iterator()
        : plan instanceof Distinct ? plan.output().iterator() : scala.collection.Iterator$.MODULE$.empty();
    while (keys.hasNext()) {
      DataType key = ((Expression) keys.next()).dataType();
      if (!Plans.exact(key)) return "any of equal " + (hasReal(key) ? "numbers" : "texts") + " may stand for a group"; // as Spark's plan has it
    }
    scala.collection.Iterator expressions = leaf ? scala.collection.Iterator$.MODULE$.empty() : plan.expressions().iterator();
    while (expressions.hasNext()) {
      String why = unrepeatable((Expression) expressions.next());
      if (why != null) return why;
    }
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      String why = unrepeatableAnywhere((LogicalPlan) children.next());
      if (why != null) return why;
    }
    return null;
  }

  /**
   * Why a plan may give other rows where fewer of its columns are asked for, as for the keys of a join; null where it gives the same. A
   * reader of text finds a record malformed by the columns that it parses: then it drops the record, or fills a column of its own.
   */
  public static String dependsOnColumns(LogicalPlan plan) {
    if (plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation) {
      HadoopFsRelation files = (HadoopFsRelation) ((LogicalRelation) plan).relation();
      java.util.Map options = new java.util.TreeMap(String.CASE_INSENSITIVE_ORDER);
      options.putAll(scala.jdk.javaapi.CollectionConverters.asJava(files.options()));
      Object malformed = options.get("columnNameOfCorruptRecord");
      if (malformed == null) malformed = ((SparkSession) files.sparkSession()).sessionState().conf().columnNameOfCorruptRecord();
      boolean drops = "DROPMALFORMED".equalsIgnoreCase((String) options.get("mode"));
      if (drops || files.dataSchema().getFieldIndex((String) malformed).isDefined()) return "which records are malformed depends on the columns read";
    }
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      String why = dependsOnColumns((LogicalPlan) children.next());
      if (why != null) return why;
    }
    return null;
  }

  private static boolean hasReal(DataType type) {
    return type.existsRecursively(new scala.runtime.AbstractFunction1() {
      public Object apply(Object part) {
        return Boolean.valueOf(isReal((DataType) part));
      }
    });
  }

  private static boolean fixed(LogicalRelation relation) {
    if (!(relation.relation() instanceof HadoopFsRelation)) return false;
    FileIndex location = ((HadoopFsRelation) relation.relation()).location();
    if (location instanceof Wrapper) location = ((Wrapper) location).wrapped();
    return location instanceof PartitioningAwareFileIndex;
  }

  private static String unrepeatable(Expression expression) {
    if (!expression.deterministic() || Plans.isRandom(expression)) return "it is not deterministic";
    if (expression instanceof PythonUDF) return "it calls a Python function";
    if (expression instanceof PlanExpression) return "it holds a sub-query";
    if (Plans.dependsOnOtherRows(expression)) return "which rows are nearest may differ";
    if (expression instanceof LambdaFunction && callsFunctions(expression)) return "Spark may take a function in a function for another, and run that";
    if (expression instanceof AggregateExpression && !exact(((AggregateExpression) expression).aggregateFunction())) {
      return "an aggregate may depend on the order of rows";
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      String why = unrepeatable((Expression) children.next());
      if (why != null) return why;
    }
    return null;
  }

  /** Whether a function calls another one for each element of an array or map: see Alike. */
  private static boolean callsFunctions(Expression function) {
    scala.collection.Iterator children = function.children().iterator();
    while (children.hasNext()) {
      Expression child = (Expression) children.next();
      if (child instanceof LambdaFunction || callsFunctions(child)) return true;
    }
    return false;
  }

  /** Whether an aggregate is the same in any order of the rows, but for the sign of a zero. */
  private static boolean exact(Expression function) {
    if (function instanceof Count) return true;
    DataType type = function.dataType();
    if (function instanceof Min || function instanceof Max) return isReal(type) || Plans.exact(type);
    if (!(function instanceof Sum) && !(function instanceof Average) || isReal(type) || function.prettyName().startsWith("try_")) return false;
    // The sum has ten digits more than what is summed, where there is room for them: else it may overflow in one order and not in another.
    DataType summed = ((Expression) function.children().head()).dataType();
    return !(summed instanceof DecimalType) || ((DecimalType) summed).precision() <= 28;
  }

  /**
   * What running the plan costs, in bytes that are read: those of text as they are once unpacked; and where a join compares all rows of one
   * side with all of the other, as many as take the time of a pair.
   */
  public static long bytes(LogicalPlan plan) {
    if (plan.children().isEmpty()) return times(plan.stats().sizeInBytes(), isPackedText(plan) ? UNPACKED : 1);
    long total = comparesAll(plan) ? pairs((LogicalPlan) plan.children().head(), (LogicalPlan) plan.children().last()) : 0;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      long bytes = bytes((LogicalPlan) children.next());
      total = total > Long.MAX_VALUE - bytes ? Long.MAX_VALUE : total + bytes;
    }
    return total;
  }

  private static long times(scala.math.BigInt size, long factor) {
    scala.math.BigInt product = size.$times(scala.math.BigInt$.MODULE$.long2bigInt(factor));
    return product.isValidLong() ? product.toLong() : Long.MAX_VALUE;
  }

  /** Whether a plan reads text of which the first file is packed: columns of Parquet are packed as well, but those that are read are few. */
  private static boolean isPackedText(LogicalPlan plan) {
    if (!(plan instanceof LogicalRelation) || !(((LogicalRelation) plan).relation() instanceof HadoopFsRelation)) return false;
    HadoopFsRelation files = (HadoopFsRelation) ((LogicalRelation) plan).relation();
    if (!(files.fileFormat() instanceof TextBasedFileFormat)) return false;
    FileIndex location = files.location() instanceof Wrapper ? ((Wrapper) files.location()).wrapped() : files.location();
    if (!(location instanceof PartitioningAwareFileIndex)) return false;
    scala.collection.Iterator all = ((PartitioningAwareFileIndex) location).allFiles().iterator();
    CompressionCodecFactory codecs = new CompressionCodecFactory(((SparkSession) files.sparkSession()).sparkContext().hadoopConfiguration());
    return all.hasNext() && codecs.getCodec(((FileStatus) all.next()).getPath()) != null;
  }

  /** Whether a join has no equality of both sides by which Spark finds the rows that match. */
  private static boolean comparesAll(LogicalPlan plan) {
    if (!(plan instanceof Join)) return false;
    List parts = ((Join) plan).condition().isEmpty() ? new ArrayList() : Plans.conjuncts((Expression) ((Join) plan).condition().get());
    for (int i = 0; i < parts.size(); i++) {
      if (!(parts.get(i) instanceof EqualTo) && !(parts.get(i) instanceof EqualNullSafe)) continue;
      Expression one = (Expression) ((Expression) parts.get(i)).children().head();
      Expression other = (Expression) ((Expression) parts.get(i)).children().last();
      if (isOfEach(one, other, (Join) plan) || isOfEach(other, one, (Join) plan)) return false;
    }
    return true;
  }

  private static boolean isOfEach(Expression one, Expression other, Join join) {
    return one.references().subsetOf(join.left().outputSet()) && other.references().subsetOf(join.right().outputSet());
  }

  private static long pairs(LogicalPlan left, LogicalPlan right) {
    return times(rows(left).$times(rows(right)), BYTES_OF_A_PAIR);
  }

  private static scala.math.BigInt rows(LogicalPlan plan) {
    if (plan.stats().rowCount().isDefined()) return (scala.math.BigInt) plan.stats().rowCount().get();
    return plan.stats().sizeInBytes().$div(scala.math.BigInt$.MODULE$.int2bigInt(8 + DataTypeUtils$.MODULE$.fromAttributes(plan.output()).defaultSize()));
  }

  /**
   * The distinct values of some expressions over a plan's rows, of up to so many rows. exact: equal values are the same, so that Spark may
   * group by them; else 'z' would stand for 'Z', or 0.0 for -0.0.
   */
  public static InternalRow[] distinct(SparkSession session, LogicalPlan plan, List expressions, boolean exact, int limit) {
    Dataset values = values(session, plan, expressions);
    if (exact) return run(values.distinct().limit(limit), KEYS);
    InternalRow[] rows = run(values.limit(limit), KEYS);
    if (rows.length == limit) return rows;
    return (InternalRow[]) new java.util.LinkedHashSet(java.util.Arrays.asList(rows)).toArray(new InternalRow[0]); // rows of bytes
  }

  /** The smallest and the largest value of each expression over a plan's rows, side by side in one row. */
  public static InternalRow extremes(SparkSession session, LogicalPlan plan, List expressions) {
    String[] ends = new String[2 * expressions.size()];
    for (int i = 0; i < expressions.size(); i++) {
      ends[2 * i] = "min(v" + i + ")";
      ends[2 * i + 1] = "max(v" + i + ")";
    }
    return run(values(session, plan, expressions).selectExpr(ends), KEYS)[0];
  }

  /** The rows of a plan. */
  public static InternalRow[] rows(SparkSession session, LogicalPlan plan) {
    return run(Dataset$.MODULE$.ofRows(session, SameColumns.of(plan)), KEYS);
  }

  private static Dataset values(SparkSession session, LogicalPlan plan, List expressions) {
    return Dataset$.MODULE$.ofRows(session, new Project(Plans.seq(named(expressions)), SameColumns.of(plan)));
  }

  /** The rows of a query, which Spark shows by a name. */
  public static InternalRow[] run(Dataset rows, String name) {
    RUNNING.set(Boolean.TRUE);
    try {
      final QueryExecution execution = rows.queryExecution();
      return (InternalRow[]) SQLExecution$.MODULE$.withNewExecutionId(
          execution, scala.Option.apply(name), new scala.runtime.AbstractFunction0() {
            public Object apply() {
              return execution.executedPlan().executeCollect();
            }
          });
    } catch (Throwable raised) {
      if (isCancelled(raised)) throw new Cancelled(raised);
      Platform.throwException(raised);
      return null;
    } finally {
      RUNNING.remove();
    }
  }

  /** By its group, its tag or Spark's listing of jobs, or since this thread was interrupted. */
  private static boolean isCancelled(Throwable raised) {
    if (raised == null) return false;
    if (raised instanceof InterruptedException || String.valueOf(raised.getMessage()).startsWith("[SPARK_JOB_CANCELLED]")) return true;
    Throwable[] others = raised.getSuppressed(); // of stages that failed together
    for (int i = 0; i < others.length; i++) if (isCancelled(others[i])) return true;
    return isCancelled(raised.getCause());
  }

  private static List named(List expressions) {
    List result = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) result.add(Plans.alias((Expression) expressions.get(i), "v" + i));
    return result;
  }
}
