package data_skip;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockLength;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockStart;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Nondeterministic;
import org.apache.spark.sql.catalyst.expressions.SparkPartitionID;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.types.StructType;

/**
 * The operators of a plan that give rows by which files are read, where that is seen: samples; those that ask for the parts into which Spark
 * cuts files; and those that number rows, or draw for them, as another one does. `monotonically_increasing_id()` and `rand(7)` go by how files
 * are put together. A query that has the same twice, as one that joins on such numbers, or takes those of `rand(7) < 0.5` apart from the others,
 * gives the right rows only where both read the same files; and those of two scans may differ, by the columns that they read and by the time that
 * it takes to find them. What stands in a WITH that Spark runs once is below each operator that asks for it.
 */
public final class Sampled {
  private static final List PARTS = Arrays.asList(new String[] {"file_block_start", "file_block_length"});

  private static final String SAMPLED = "which rows a sample takes depends on the files that are read: none is skipped";
  private static final String NUMBERED =
      "what numbers rows or draws for them, as monotonically_increasing_id() or rand(7), stands twice in this query, and goes by the files that are read";
  private static final String CUT =
      "into which parts Spark cuts files depends on the files that are read: none is skipped where a query asks for them";

  private final Map found = new IdentityHashMap(); // operators -> what is told of the scans below
  private final Map shared = new HashMap(); // by the number of a WITH, its plan
  private final Map first = new HashMap(); // what draws -> the first operator that has it
  private boolean hasCheckpoint;

  private Sampled() {}

  /** The operators, by identity, and of each what is told of the scans below it. */
  public static Map of(LogicalPlan plan) {
    final Sampled sampled = new Sampled();
    sampled.addRoot(plan);
    plan.foreachWithSubqueries(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            sampled.add((LogicalPlan) node);
            return null;
          }
        });
    // A checkpoint may hold what any of them has drawn, and a later query may be given it, as of a cache, beside what it draws by itself.
    if (!sampled.first.isEmpty() && (sampled.hasCheckpoint || Callers.keepRows())) {
      java.util.Iterator drawing = sampled.first.values().iterator();
      while (drawing.hasNext()) sampled.found.putIfAbsent(drawing.next(), NUMBERED);
    }
    java.util.Iterator operators = new ArrayList(sampled.found.keySet()).iterator();
    while (operators.hasNext()) sampled.addShared((LogicalPlan) operators.next());
    return sampled.found;
  }

  /** The rows of a plan, or of a sub-query, are shown or compared: all of `_metadata` that is handed on to its root has the parts in it. */
  private void addRoot(LogicalPlan root) {
    scala.collection.Iterator output = root.output().iterator();
    while (output.hasNext()) if (isMetadata(output.next())) found.put(root, CUT);
  }

  /**
   * Adds what gives an operator all of `_metadata` that this neither hands on by its name nor speaks of in an expression: it is written, given to a
   * script (TRANSFORM), or stands for a column of a union.
   */
  private void addTaken(LogicalPlan operator) {
    if (operator instanceof WithCTE) return; // what it has beside its plan is given to those that ask for it: see addShared
    if (operator instanceof Project || operator instanceof Aggregate || operator instanceof Generate || operator instanceof Join) return;
    for (int i = 0; i < operator.children().size(); i++) {
      LogicalPlan child = (LogicalPlan) operator.children().apply(i);
      scala.collection.Iterator output = child.output().iterator();
      while (output.hasNext()) {
        Attribute given = (Attribute) output.next();
        if (isMetadata(given) && !operator.outputSet().contains(given)) found.put(child, CUT);
      }
    }
  }

  /** Adds what stands in each WITH that an operator asks for. */
  private void addShared(final LogicalPlan operator) {
    if (shared.isEmpty()) return;
    operator.foreach(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            Object plan = node instanceof CTERelationRef ? shared.get(new Long(((CTERelationRef) node).cteId())) : null;
            if (plan == null || found.containsKey(plan)) return null;
            found.put(plan, found.get(operator));
            addShared((LogicalPlan) plan);
            return null;
          }
        });
  }

  private void add(LogicalPlan operator) {
    if (operator instanceof CTERelationDef) shared.put(new Long(((CTERelationDef) operator).id()), operator);
    if (operator instanceof Sample) found.put(operator, SAMPLED);
    else if (asksForParts(operator)) found.put(operator, CUT);
    addTaken(operator);
    hasCheckpoint |= isCheckpoint(operator);
    scala.collection.Iterator queries = operator.subqueries().iterator();
    while (queries.hasNext()) addRoot((LogicalPlan) queries.next());
    java.util.Iterator each = draws(operator).iterator();
    while (each.hasNext()) {
      Object before = first.putIfAbsent(each.next(), operator);
      if (before == null) continue;
      found.putIfAbsent(before, NUMBERED);
      found.putIfAbsent(operator, NUMBERED);
    }
  }

  /** Whether the rows of a plan were kept by `checkpoint()` or `localCheckpoint()`: nothing tells of what they were made. */
  public static boolean isCheckpoint(LogicalPlan plan) {
    return plan instanceof LogicalRDD && ((LogicalRDD) plan).rdd().checkpointData().isDefined();
  }

  /** What an operator draws; a cache all that was drawn for it, perhaps when the table had no index. */
  private static Set draws(LogicalPlan operator) {
    final Set draws = new HashSet();
    scala.collection.Iterator expressions = operator.expressions().iterator();
    while (expressions.hasNext()) addDraws((Expression) expressions.next(), draws);
    if (!(operator instanceof InMemoryRelation)) return draws;
    Plans.cached((InMemoryRelation) operator).foreachWithSubqueries(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            return Boolean.valueOf(draws.addAll(draws((LogicalPlan) node)));
          }
        });
    return draws;
  }

  /** Whether an operator asks into which parts Spark cuts files: also by all of `_metadata`, unless a Project hands that on as what it is. */
  private static boolean asksForParts(LogicalPlan operator) {
    scala.collection.Iterator expressions = operator.expressions().iterator();
    while (expressions.hasNext()) {
      Expression expression = (Expression) expressions.next();
      Expression value = expression instanceof Alias ? ((Alias) expression).child() : expression;
      boolean handedOn = operator instanceof Project && value instanceof Attribute && isMetadata(((NamedExpression) expression).toAttribute());
      if (!handedOn && holdsPart(value)) return true;
    }
    return false;
  }

  private static boolean holdsPart(Expression expression) {
    if (expression instanceof InputFileBlockStart || expression instanceof InputFileBlockLength) return true;
    boolean field = expression instanceof GetStructField && isMetadata(((GetStructField) expression).child());
    if (field) return PARTS.contains(((GetStructField) expression).extractFieldName());
    if (isMetadata(expression)) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (holdsPart((Expression) children.next())) return true;
    return false;
  }

  /** Whether an expression is `_metadata` with the parts in it, of which the optimizer takes away fields that nobody asks for. */
  private static boolean isMetadata(Object expression) {
    if (!(expression instanceof Attribute) || !((Attribute) expression).metadata().contains("__metadata_col")) return false;
    if (!(((Attribute) expression).dataType() instanceof StructType)) return false;
    return !Collections.disjoint(Arrays.asList(((StructType) ((Attribute) expression).dataType()).fieldNames()), PARTS);
  }

  /** What of an expression goes by a row's place. */
  private static void addDraws(Expression expression, Set draws) {
    if (expression.deterministic()) return;
    if (draws(expression)) draws.add(form(expression));
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) addDraws((Expression) children.next(), draws);
  }

  /** Whether a function goes by a row's place, whatever it is given. */
  public static boolean draws(Expression function) {
    return function instanceof Nondeterministic && !(function instanceof InputFileName);
  }

  /** Equal for what gives the same over the same rows: its kind and its seed. The columns that it is given are other ones in each part of a query. */
  private static Object form(Expression expression) {
    List form = new ArrayList();
    boolean ofTask = expression instanceof MonotonicallyIncreasingID; // it begins with the number of the task
    form.add(ofTask ? SparkPartitionID.class : expression.getClass());
    for (int i = 0; i < expression.productArity(); i++) {
      Object part = expression.productElement(i);
      if (!(part instanceof Expression) || part instanceof Literal) form.add(part);
    }
    return form;
  }
}
