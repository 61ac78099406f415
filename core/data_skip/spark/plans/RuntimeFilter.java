package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
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
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;

/**
 * A predicate of a scan that is known once a small side has been run (sideways information passing): some row of `other`
 * satisfies all of `conditions` together with the scan's row; or, for a scalar sub-query, `conditions` with its one value.
 *
 * The conditions become ordinary predicates of the scan: `key IN (the other side's keys)`, of many their range and a Bloom filter; and where
 * rows are few, or a condition is no equality, the OR over them of the conditions with their values put in. So each filter serves joins
 * on what it serves with constants, as ST_Contains(countries.shape, point).
 */
public final class RuntimeFilter {
  private static final int MOST_COLLECTED = 100000; // rows of the small side that are held at once
  private static final int MOST_ROWS = 100; // that are put into conditions one by one
  private static final int MOST_OF_ONE = 1000; // into a condition that is a function, as ST_Contains: filters may serve the whole OR at once
  private static final int LEAST_RATIO = 10; // of the bytes of a scan, the small side may read one in so many

  private static final int OTHER_SIDE = 1 << 20; // places of its attributes, beyond those of the scan's

  private final List conditions;
  private final LogicalPlan other;
  private final boolean scalar;
  private final String unrepeatable;

  private RuntimeFilter(List conditions, LogicalPlan other, boolean scalar, String unrepeatable) {
    this.conditions = conditions;
    this.other = other;
    this.scalar = scalar;
    this.unrepeatable = unrepeatable;
  }

  private RuntimeFilter with(List conditions) {
    return new RuntimeFilter(conditions, other, scalar, unrepeatable);
  }

  /** What the conditions of a join ask of the rows of one side (`mine`), given the other; null where they ask nothing of both. */
  public static RuntimeFilter ofJoin(List conditions, LogicalPlan mine, LogicalPlan other) {
    List both = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) {
      Expression part = (Expression) conditions.get(i);
      boolean aboutBoth = meets(part, mine.outputSet()) && meets(part, other.outputSet());
      if (aboutBoth && part.deterministic() && !holds(part, PlanExpression.class)) both.add(part);
    }
    if (both.isEmpty()) return null;
    String unrepeatable = SmallSide.unrepeatable(other);
    return new RuntimeFilter(both, other, false, unrepeatable == null ? SmallSide.dependsOnColumns(other) : unrepeatable);
  }

  /** A predicate that compares with an uncorrelated scalar sub-query; null for another. */
  public static RuntimeFilter ofSubquery(Expression predicate) {
    ScalarSubquery found = subquery(predicate);
    if (found == null || !found.outerAttrs().isEmpty() || holds(predicate, PythonUDF.class)) return null;
    Expression rest = KeyPredicates.replaced(predicate, found, new Literal(null, found.dataType()));
    if (!rest.deterministic() || subquery(rest) != null) return null;
    LogicalPlan query = (LogicalPlan) found.plan();
    return new RuntimeFilter(Collections.singletonList(predicate), query, true, SmallSide.unrepeatable(query));
  }

  private static ScalarSubquery subquery(Expression expression) {
    if (expression instanceof ScalarSubquery) return (ScalarSubquery) expression;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      ScalarSubquery found = subquery((Expression) children.next());
      if (found != null) return found;
    }
    return null;
  }

  private static boolean holds(Expression expression, Class kind) {
    if (kind.isInstance(expression)) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (holds((Expression) children.next(), kind)) return true;
    return false;
  }

  private static boolean meets(Expression expression, AttributeSet attributes) {
    scala.collection.Iterator references = expression.references().iterator();
    while (references.hasNext()) if (attributes.contains((Attribute) references.next())) return true;
    return false;
  }

  /** The same of an operator's input, whose output `computed` gives by the ids of its attributes; null where nothing is left of it. */
  public RuntimeFilter below(Map computed) {
    List substituted = Plans.substituteAll(conditions, computed);
    return substituted.isEmpty() ? null : with(substituted);
  }

  /** What the conditions ask of rows with this output; null where nothing. */
  public RuntimeFilter about(AttributeSet output) {
    List kept = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) {
      Expression condition = (Expression) conditions.get(i);
      AttributeSet mine = scalar ? condition.references() : condition.references().$minus$minus(other.outputSet());
      if (!mine.isEmpty() && mine.subsetOf(output)) kept.add(condition);
    }
    return kept.isEmpty() ? null : with(kept);
  }

  /** What is run, for people. */
  public String side() {
    return scalar ? "the sub-query" : "the other side";
  }

  public LogicalPlan other() {
    return other;
  }

  public long bytes() {
    return SmallSide.bytes(other);
  }

  /** Why the small side is not run at all; null where it may be. `spark.data_skip.join.maxBytes` is the most that it may read. */
  public String refusal(SQLConf conf) {
    if (unrepeatable != null) return side() + ": " + unrepeatable;
    Long most = UserSettings.joinMaxBytes(conf);
    String limit = UserSettings.joinMaxBytesText(conf);
    if (most == null) return side() + ": " + limit + " is no size, as 33554432 or 32m are";
    return bytes() <= most.longValue() ? null : side() + " may read " + bytes() + " bytes, more than " + limit;
  }

  /** Whether it may be run for a scan of so many bytes. */
  public boolean affordable(long scan) {
    return refusal(SQLConf.get()) == null && leastScanBytes() <= scan;
  }

  /** The bytes that a scan must have left to read. */
  public long leastScanBytes() {
    return bytes() > Long.MAX_VALUE / LEAST_RATIO ? Long.MAX_VALUE : bytes() * LEAST_RATIO;
  }

  public String sql() {
    String text = "";
    for (int i = 0; i < conditions.size(); i++) text += (i > 0 ? " AND " : "") + ((Expression) conditions.get(i)).sql();
    return text;
  }

  /** The names of the scan's columns that the conditions speak of. */
  public Set columns(Map names) {
    Set result = new HashSet();
    for (int i = 0; i < conditions.size(); i++) {
      scala.collection.Iterator references = ((Expression) conditions.get(i)).references().iterator();
      while (references.hasNext()) {
        Object name = names.get(((Attribute) references.next()).exprId());
        if (name != null) result.add(name);
      }
    }
    return result;
  }

  /** The conditions as text that is equal for equal conditions of another query. */
  public List encoded(Map names) {
    Map columns = new HashMap(names);
    scala.collection.immutable.Seq output = other.output();
    for (int i = 0; !scalar && i < output.size(); i++) columns.put(((Attribute) output.apply(i)).exprId(), "?" + i);
    List result = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) {
      Expression condition = (Expression) conditions.get(i);
      if (scalar) condition = KeyPredicates.replaced(condition, subquery(condition), new Literal(null, subquery(condition).dataType()));
      result.add(new TreeEncoder(columns, new org.apache.spark.sql.types.StructType()).encode(condition));
    }
    return result;
  }

  /** Forms that are equal for filters that say the same of equal plans; places: of the plan's attributes. */
  public static List alike(List runtimeFilters, Map places) {
    List result = new ArrayList();
    for (int i = 0; i < runtimeFilters.size(); i++) result.add(((RuntimeFilter) runtimeFilters.get(i)).alike(places));
    return result;
  }

  private Object alike(Map places) {
    Map all = new HashMap(places);
    scala.collection.immutable.Seq output = other.output();
    for (int i = 0; !scalar && i < output.size(); i++) all.put(((Attribute) output.apply(i)).exprId(), new Integer(OTHER_SIDE + i));
    // What compares with a sub-query is a filter of Spark's as well, at the scan; the conditions of a join are tested above its exchanges.
    List forms = scalar ? Alike.toSpark(conditions, all) : Alike.exactly(conditions, all);
    return java.util.Arrays.asList(new Object[] {Boolean.valueOf(scalar), other.canonicalized(), new HashSet(forms)});
  }

  /** Runs the small side: what its rows say of the scan's, as a predicate of the scan alone; null where they say nothing. */
  public Expression resolve(SparkSession session) {
    return scalar ? withValue(session) : withRows(session);
  }

  private Expression withValue(SparkSession session) {
    Expression condition = (Expression) conditions.get(0);
    ScalarSubquery query = subquery(condition);
    InternalRow[] rows = SmallSide.rows(session, other);
    if (rows.length > 1) return null; // the query will fail
    Object value = rows.length == 0 ? null : value(rows[0], 0, query.dataType());
    if (SmallSide.isZero(value) && SmallSide.hasRealExtremes(other)) return null; // it may be -0.0 the next time
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
    if (!SmallSide.hasRealExtremes(other)) return false;
    for (int i = 0; i < inputs.size(); i++) {
      for (int r = 0; r < rows.length; r++) if (SmallSide.isZero(value(rows[r], i, ((Expression) inputs.get(i)).dataType()))) return true;
    }
    return false;
  }

  /** The scan's side of an equality of both sides, where keys can be told by their values; null for another condition. */
  private Expression key(Expression condition) {
    if (!(condition instanceof EqualTo) && !(condition instanceof EqualNullSafe) || holds(condition, PythonUDF.class)) return null;
    Expression left = (Expression) condition.children().apply(0);
    Expression right = (Expression) condition.children().apply(1);
    if (!(left.dataType() instanceof AtomicType)) return null;
    if (!meets(left, other.outputSet()) && right.references().subsetOf(other.outputSet())) return left;
    if (!meets(right, other.outputSet()) && left.references().subsetOf(other.outputSet())) return right;
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
