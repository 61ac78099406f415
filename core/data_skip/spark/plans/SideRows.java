package data_skip;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.StringType;

/**
 * What the rows of a small side say of a scan's, once it has been run: some row satisfies all of `conditions` together with the scan's row.
 *
 * The conditions become ordinary predicates of the scan: `key IN (the other side's keys)`, of many their range and a Bloom filter; and where
 * rows are few, or a condition is no equality, the OR over them of the conditions with their values put in. So each filter serves joins
 * on what it serves with constants, as ST_Contains(countries.shape, point).
 */
public final class SideRows {
  private static final int MOST_COLLECTED = 100000; // rows of the small side that are held at once
  private static final int MOST_ROWS = 100; // that are put into conditions one by one
  private static final int MOST_OF_ONE = 1000; // into a condition that is a function, as ST_Contains: filters may serve the whole OR at once

  private final List conditions;
  private final LogicalPlan other;

  public SideRows(List conditions, LogicalPlan other) {
    this.conditions = conditions;
    this.other = other;
  }

  /** The first scalar sub-query of an expression; null where it has none. */
  public static ScalarSubquery subquery(Expression expression) {
    if (expression instanceof ScalarSubquery) return (ScalarSubquery) expression;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      ScalarSubquery found = subquery((Expression) children.next());
      if (found != null) return found;
    }
    return null;
  }

  public static boolean meets(Expression expression, AttributeSet attributes) {
    scala.collection.Iterator references = expression.references().iterator();
    while (references.hasNext()) if (attributes.contains((Attribute) references.next())) return true;
    return false;
  }

  /**
   * Whether an expression gives some attributes to a vectorised Python function that is given others of them in a batch with rows in which one
   * is NULL than one value by itself: all but texts, binary and numbers with fractions, which pandas has no other form of.
   */
  public static boolean inBatches(Expression expression, AttributeSet attributes) {
    boolean vectorised = expression instanceof PythonUDF && ((PythonUDF) expression).evalType() != PythonResults.ROW_AT_A_TIME;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      Expression child = (Expression) children.next();
      DataType type = child.dataType();
      boolean same = type instanceof StringType || type instanceof BinaryType || type instanceof FloatType || type instanceof DoubleType;
      if (vectorised && !same && meets(child, attributes) || inBatches(child, attributes)) return true;
    }
    return false;
  }

  /** Runs the side: what its rows say of the scan's, as a predicate of the scan alone; null where they say nothing. scalar: its one value. */
  public Expression resolve(SparkSession session, boolean scalar) {
    return scalar ? withValue(session) : withRows(session);
  }

  private Expression withValue(SparkSession session) {
    Expression condition = (Expression) conditions.get(0);
    ScalarSubquery query = subquery(condition);
    InternalRow[] rows = SmallSide.rows(session, other);
    if (rows.length > 1) return null; // the query will fail
    Object value = rows.length == 0 ? null : value(rows[0], 0, query.dataType());
    if (Repeatable.isZero(value) && Repeatable.hasRealExtremes(other)) return null; // it may be -0.0 the next time
    return KeyPredicates.folded(KeyPredicates.replaced(condition, query, new Literal(value, query.dataType())));
  }

  private Expression withRows(SparkSession session) {
    List inputs = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) inputs.addAll(inputs((Expression) conditions.get(i)));
    // A key is compared as values of its type are; what conditions make of other inputs may tell apart values that are equal.
    InternalRow[] rows = SmallSide.distinct(session, other, inputs, allExact(), MOST_COLLECTED + 1);
    if (rows.length == 0) return Literal$.MODULE$.FalseLiteral();
    if (rows.length > MOST_COLLECTED) return ranges(session);
    List parts = new ArrayList();
    int next = 0;
    boolean onlyEqual = true;
    for (int i = 0; i < conditions.size(); i++) {
      Expression condition = (Expression) conditions.get(i);
      Expression key = key(condition);
      if (key == null) onlyEqual = false;
      else parts.addAll(KeyPredicates.isIn(key, column(rows, next, key.dataType()), condition instanceof EqualNullSafe));
      next += inputs(condition).size();
    }
    boolean one = conditions.size() == 1 && !(conditions.get(0) instanceof BinaryComparison);
    boolean few = rows.length <= (one ? MOST_OF_ONE : MOST_ROWS);
    if ((!onlyEqual || conditions.size() > 1) && few && !unsure(rows, inputs)) parts.add(oneByOne(rows, inputs));
    return KeyPredicates.all(parts);
  }

  /** Whether values of all inputs but keys are equal only where they are the same. */
  private boolean allExact() {
    for (int i = 0; i < conditions.size(); i++) {
      Expression condition = (Expression) conditions.get(i);
      List needed = key(condition) == null ? inputs(condition) : new ArrayList();
      for (int j = 0; j < needed.size(); j++) if (!Plans.exact(((Expression) needed.get(j)).dataType())) return false;
    }
    return true;
  }

  /** Whether a value may be another one the next time: the smallest of 0.0 and -0.0. */
  private boolean unsure(InternalRow[] rows, List inputs) {
    if (!Repeatable.hasRealExtremes(other)) return false;
    for (int i = 0; i < inputs.size(); i++) {
      for (int r = 0; r < rows.length; r++) if (Repeatable.isZero(value(rows[r], i, ((Expression) inputs.get(i)).dataType()))) return true;
    }
    return false;
  }

  /** The scan's side of an equality of both sides, where keys can be told by their values; null for another condition. */
  private Expression key(Expression condition) {
    if (!(condition instanceof EqualTo) && !(condition instanceof EqualNullSafe) || Plans.holds(condition, PythonUDF.class)) return null;
    Expression left = (Expression) condition.children().apply(0);
    Expression right = (Expression) condition.children().apply(1);
    if (!(left.dataType() instanceof AtomicType)) return null;
    if (!meets(left, other.outputSet()) && right.references().subsetOf(other.outputSet())) return Repeatable.mixesLetters(other, right) ? null : left;
    if (!meets(right, other.outputSet()) && left.references().subsetOf(other.outputSet())) return Repeatable.mixesLetters(other, left) ? null : right;
    return null;
  }

  /** What of the other side a condition needs to know: the key; or its attributes. */
  private List inputs(Expression condition) {
    List result = new ArrayList();
    Expression key = key(condition);
    if (key != null) {
      result.add(condition.children().apply(key == condition.children().apply(0) ? 1 : 0));
      return result;
    }
    scala.collection.Iterator references = condition.references().iterator();
    while (references.hasNext()) {
      Attribute reference = (Attribute) references.next();
      if (other.outputSet().contains(reference)) result.add(reference);
    }
    return result;
  }

  private static Object value(InternalRow row, int i, DataType type) {
    return row.isNullAt(i) ? null : row.get(i, type);
  }

  private static List column(InternalRow[] rows, int i, DataType type) {
    Set distinct = new java.util.LinkedHashSet();
    for (int row = 0; row < rows.length; row++) distinct.add(value(rows[row], i, type));
    return new ArrayList(distinct);
  }

  /** Of more rows than MOST_COLLECTED the range of the keys. */
  private Expression ranges(SparkSession session) {
    List keys = new ArrayList();
    List inputs = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) {
      Expression key = conditions.get(i) instanceof EqualTo ? key((Expression) conditions.get(i)) : null;
      if (key == null) continue;
      keys.add(key);
      inputs.addAll(inputs((Expression) conditions.get(i)));
    }
    if (keys.isEmpty()) return null;
    InternalRow row = SmallSide.extremes(session, other, inputs);
    if (row == null) return null;
    List parts = new ArrayList();
    for (int i = 0; i < keys.size(); i++) {
      Expression key = (Expression) keys.get(i);
      if (!row.isNullAt(2 * i)) parts.addAll(KeyPredicates.range(key, value(row, 2 * i, key.dataType()), value(row, 2 * i + 1, key.dataType())));
    }
    return KeyPredicates.all(parts);
  }

  /** The OR over the rows of all conditions with their values put in. */
  private Expression oneByOne(InternalRow[] rows, List inputs) {
    List any = new ArrayList();
    for (int r = 0; r < rows.length; r++) {
      int next = 0;
      List parts = new ArrayList();
      for (int i = 0; i < conditions.size(); i++) {
        Expression condition = (Expression) conditions.get(i);
        List needed = inputs(condition);
        for (int j = 0; j < needed.size(); j++, next++) {
          Expression part = (Expression) needed.get(j);
          condition = KeyPredicates.replaced(condition, part, new Literal(value(rows[r], next, part.dataType()), part.dataType()));
        }
        parts.add(KeyPredicates.folded(condition));
      }
      any.add(KeyPredicates.all(parts));
    }
    return KeyPredicates.any(any);
  }
}
