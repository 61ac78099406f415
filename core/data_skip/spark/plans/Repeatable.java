package data_skip;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateMap;
import org.apache.spark.sql.catalyst.expressions.CsvToStructs;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.JsonToStructs;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UnaryExpression;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.catalyst.expressions.Upper;
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
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.NumericType;

/**
 * Whether a part of a query that is run twice, first by itself and then for a join, surely gives the same rows: known operators over lists
 * of files that are fixed, caches of such, and literal rows; no LIMIT, nothing random, no sum of floating point numbers, whose last digits depend on
 * the order.
 */
public final class Repeatable {
  private Repeatable() {}

  /** Why a plan may give other rows when it is run again; null where it surely gives the same. */
  public static String unrepeatable(LogicalPlan plan) {
    String why = unrepeatableAnywhere(plan);
    return why == null && hasRealExtremes(plan) && !onTop(plan) ? "the smallest of 0.0 and -0.0 may be either" : why;
  }

  /** Whether a plan holds a smallest or largest floating point number, which may be 0.0 or -0.0 where both are there. */
  public static boolean hasRealExtremes(LogicalPlan plan) {
    if (plan instanceof InMemoryRelation) return hasRealExtremes(Plans.cached((InMemoryRelation) plan));
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (expressions.hasNext()) if (isRealExtreme((Expression) expressions.next())) return true;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) if (hasRealExtremes((LogicalPlan) children.next())) return true;
    return false;
  }

  public static boolean isRealExtreme(Expression expression) {
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
    if (plan instanceof InMemoryRelation) return onTop(Plans.cached((InMemoryRelation) plan));
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

  private static String whyNotListed(LogicalRelation scan) {
    boolean ofCatalog = scan.relation() instanceof HadoopFsRelation && ((HadoopFsRelation) scan.relation()).location() instanceof CatalogFileIndex;
    return ofCatalog ? "it reads a catalog's table, of which the files of partitions are listed as it runs" : "it reads another source than a fixed list of files";
  }

  private static String unrepeatableAnywhere(LogicalPlan plan) {
    if (plan.isStreaming()) return "it is a stream";
    if (plan instanceof LogicalRelation) return ScannedFiles.listed((LogicalRelation) plan) != null ? null : whyNotListed((LogicalRelation) plan);
    boolean leaf = plan instanceof LocalRelation || plan instanceof Range || plan instanceof OneRowRelation || plan instanceof InMemoryRelation;
    boolean known = plan instanceof Project || plan instanceof Filter || plan instanceof Aggregate || plan instanceof Join;
    if (!leaf && !known && !(plan instanceof Union) && !(plan instanceof Distinct) && !(plan instanceof SubqueryAlias)) {
      if (plan instanceof org.apache.spark.sql.execution.LogicalRDD) return "an RDD may give other rows each time: write it to files";
      return plan.nodeName() + " may give other rows each time";
    }
    if (plan instanceof InMemoryRelation) { // whose blocks go with an executor, or by another thread's unpersist()
      String why = unrepeatable(Plans.cached((InMemoryRelation) plan));
      if (why != null) return "what is cached may be computed again: " + why;
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
   * reader of text finds a record malformed by the columns that it parses: then it drops the record, or fills a column of its own. And what one
   * operator computes of what another does, the optimizer puts together once nothing else asks for that.
   */
  public static String dependsOnColumns(LogicalPlan plan) {
    if (mixesLetters(plan, null) || changesPutTogether(plan)) return "Spark may simplify what it computes, where fewer columns are asked for";
    return dependsOnColumnsRead(plan);
  }

  /**
   * Whether the optimizer may simplify what a plan computes, with an expression of its rows, in another way than in the query's own plan:
   * it takes upper(lower(x)) for upper(x), and of some letters, as the capital sharp s, they differ.
   */
  public static boolean mixesLetters(LogicalPlan plan, Expression expression) {
    boolean upper = expression != null && Plans.holds(expression, Upper.class);
    boolean lower = expression != null && Plans.holds(expression, Lower.class);
    if (expression != null && !upper && !lower) return false;
    return (upper || holds(plan, Upper.class)) && (lower || holds(plan, Lower.class));
  }

  private static boolean holds(LogicalPlan plan, Class kind) {
    scala.collection.Iterator expressions = plan.children().isEmpty() ? scala.collection.Iterator$.MODULE$.empty() : plan.expressions().iterator();
    while (expressions.hasNext()) if (Plans.holds((Expression) expressions.next(), kind)) return true;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) if (holds((LogicalPlan) children.next(), kind)) return true;
    return false;
  }

  /**
   * Whether a plan computes what the optimizer changes where it is put together with another expression: of a map that is made of pairs it
   * takes the first that fits, which may be the last (mapKeyDedupPolicy), of text that is parsed it parses the one field that is asked for.
   */
  private static boolean changesPutTogether(LogicalPlan plan) {
    scala.collection.Iterator expressions = plan.children().isEmpty() ? scala.collection.Iterator$.MODULE$.empty() : plan.expressions().iterator();
    while (expressions.hasNext()) {
      Expression expression = (Expression) expressions.next();
      boolean parses = Plans.holds(expression, JsonToStructs.class) || Plans.holds(expression, CsvToStructs.class);
      if (parses || Plans.holds(expression, CreateMap.class) || Doubtful.inSomePlan(expression)) return true;
    }
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) if (changesPutTogether((LogicalPlan) children.next())) return true;
    return false;
  }

  private static String dependsOnColumnsRead(LogicalPlan plan) {
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
      String why = dependsOnColumnsRead((LogicalPlan) children.next());
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

  private static String unrepeatable(Expression expression) {
    if (!expression.deterministic() || Determinism.isRandom(expression)) return "it is not deterministic";
    if (expression instanceof PythonUDF) return "it calls a Python function";
    if (expression instanceof PlanExpression) return "it holds a sub-query";
    if (Determinism.dependsOnOtherRows(expression)) return "which rows are nearest may differ";
    if (Alike.dependsOnOrder(expression)) return "Spark may take it for the same of operands in another order, and run that";
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
  public static boolean exact(Expression function) {
    if (function instanceof Count) return true;
    DataType type = function.dataType();
    if (function instanceof Min || function instanceof Max) return isReal(type) || Plans.exact(type);
    if (!(function instanceof Sum) && !(function instanceof Average) || isReal(type) || function.prettyName().startsWith("try_")) return false;
    // The sum has ten digits more than what is summed, where there is room for them: else it may overflow in one order and not in another.
    DataType summed = ((Expression) function.children().head()).dataType();
    return !(summed instanceof DecimalType) || ((DecimalType) summed).precision() <= 28;
  }
}
