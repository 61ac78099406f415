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
import org.apache.spark.sql.catalyst.expressions.Nondeterministic;
import org.apache.spark.sql.catalyst.expressions.SparkPartitionID;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.types.StructType;

/**
 * The operators of a plan that give rows by which files are read, where that is seen: samples; those that ask for the parts into which Spark
 * cuts files; and those that number rows, or draw for them, as another one does. `monotonically_increasing_id()` and `rand(7)` go by how files
 * are put together. A query that has the same twice, as one that joins on such numbers, or takes those of `rand(7) < 0.5` apart from the others,
 * gives the right rows only where both read the same files; and those of two scans may differ, by the columns that they read and by the time that
 * it takes to find them.
 */
public final class Sampled {
  private static final List PARTS = Arrays.asList(new String[] {"file_block_start", "file_block_length"});

  private final Set found = Collections.newSetFromMap(new IdentityHashMap());
  private final Map first = new HashMap(); // what draws -> the first operator that has it
  private boolean hasCheckpoint;

  private Sampled() {}

  /** The operators, by identity. */
  public static Set of(LogicalPlan plan) {
    final Sampled sampled = new Sampled();
    plan.foreachWithSubqueries(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            sampled.add((LogicalPlan) node);
            return null;
          }
        });
    if (sampled.first.isEmpty()) return sampled.found;
    // A checkpoint may hold what any of them has drawn, and a later query may be given it, as of a cache, beside what it draws by itself.
    if (sampled.hasCheckpoint || Callers.keepRows()) sampled.found.addAll(sampled.first.values());
    return sampled.found;
  }

  private void add(LogicalPlan operator) {
    if (operator instanceof Sample || asksForParts(operator)) found.add(operator);
    hasCheckpoint |= isCheckpoint(operator);
    java.util.Iterator each = draws(operator).iterator();
    while (each.hasNext()) {
      Object before = first.putIfAbsent(each.next(), operator);
      if (before != null) Collections.addAll(found, new Object[] {before, operator});
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
    ((InMemoryRelation) operator).cacheBuilder().logicalPlan().foreachWithSubqueries(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            return Boolean.valueOf(draws.addAll(draws((LogicalPlan) node)));
          }
        });
    return draws;
  }

  /** Whether an operator asks into which parts Spark cuts files: also by all of `_metadata`, unless a Project hands that on as it is. */
  public static boolean asksForParts(LogicalPlan operator) {
    scala.collection.Iterator expressions = operator.expressions().iterator();
    while (expressions.hasNext()) {
      Expression expression = (Expression) expressions.next();
      Expression value = expression instanceof Alias ? ((Alias) expression).child() : expression;
      boolean handedOn = operator instanceof Project && value instanceof Attribute;
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
