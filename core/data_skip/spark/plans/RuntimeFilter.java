package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.AttributeSet$;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/**
 * A predicate of a scan that is known once a small side has been run (sideways information passing): some row of `other`
 * satisfies all of `conditions` together with the scan's row; or, for a scalar sub-query, `conditions` with its one value.
 *
 * The conditions become ordinary predicates of the scan: see SideRows.
 */
public final class RuntimeFilter {
  /** Of the bytes that it may save, and of the time of reading them, a small side may take one in so many. */
  public static final int LEAST_RATIO = 10;

  private static final int OTHER_SIDE = 1 << 20; // places of its attributes, beyond those of the scan's

  private final List conditions;
  private final LogicalPlan other;
  private final boolean scalar;
  private final String[] unrepeatable; // of one element, null until it is asked for; shared by all that have the other side
  private long bytes = -1; // once they are known

  private RuntimeFilter(List conditions, LogicalPlan other, boolean scalar, String[] unrepeatable) {
    this.conditions = conditions;
    this.other = other;
    this.scalar = scalar;
    this.unrepeatable = unrepeatable;
  }

  private RuntimeFilter with(List conditions) {
    return new RuntimeFilter(conditions, other, scalar, unrepeatable);
  }

  /** Its conditions only, for people: without the plan of what is run. */
  public RuntimeFilter withoutSide() {
    List alone = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) alone.add(Plans.withoutQueries((Expression) conditions.get(i)));
    return new RuntimeFilter(alone, null, scalar, null);
  }

  /** What the conditions of a join ask of the rows of one side (`mine`), given the other; null where they ask nothing of both. */
  public static RuntimeFilter ofJoin(List conditions, LogicalPlan mine, LogicalPlan other) {
    List both = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) {
      Expression part = KeyPredicates.asWritten((Expression) conditions.get(i));
      boolean aboutBoth = SideRows.meets(part, mine.outputSet()) && SideRows.meets(part, other.outputSet());
      boolean alone = Determinism.holds(part) && !SideRows.inBatches(part, other.outputSet()) && !Plans.holds(part, PlanExpression.class);
      boolean sure = !Alike.holdsWhatDependsOnOrder(part, other.outputSet()); // else another join's broadcast may serve this one, by its own keys
      if (aboutBoth && alone && sure && !Doubtful.inSomePlan(part)) both.add(part);
    }
    if (both.isEmpty()) return null;
    return new RuntimeFilter(both, other, false, new String[1]);
  }

  /** A predicate that compares with an uncorrelated scalar sub-query; null for another. */
  public static RuntimeFilter ofSubquery(Expression predicate) {
    ScalarSubquery found = SideRows.subquery(predicate);
    if (found == null || !found.outerAttrs().isEmpty() || Plans.holds(predicate, PythonUDF.class)) return null;
    Expression rest = KeyPredicates.replaced(predicate, found, new Literal(null, found.dataType()));
    if (!Determinism.holds(rest) || SideRows.subquery(rest) != null) return null;
    LogicalPlan query = (LogicalPlan) found.plan();
    return new RuntimeFilter(Collections.singletonList(predicate), query, true, new String[1]);
  }

  /** The same of an operator's input, whose output `computed` gives by the ids of its attributes; null where nothing is left of it. */
  public RuntimeFilter below(Map computed) {
    List substituted = Substitution.substituteAll(conditions, computed);
    return substituted.isEmpty() ? null : with(substituted);
  }

  /**
   * What the conditions ask of rows with this output; null where nothing. Not those that speak of what is in the output of the other side as
   * well, as where Spark makes a join of a correlated sub-query: whose column that is, the id does not tell.
   */
  public RuntimeFilter about(AttributeSet output) {
    List kept = new ArrayList();
    AttributeSet theirs = scalar ? AttributeSet$.MODULE$.empty() : other.outputSet();
    for (int i = 0; i < conditions.size(); i++) {
      AttributeSet asked = ((Expression) conditions.get(i)).references();
      AttributeSet mine = asked.$minus$minus(theirs);
      boolean clear = asked.intersect(theirs).intersect(output).isEmpty();
      if (clear && !mine.isEmpty() && mine.subsetOf(output)) kept.add(conditions.get(i));
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

  /** What running it costs. */
  public long bytes() {
    if (bytes < 0) bytes = SideCost.bytes(other, scalar ? null : asked());
    return bytes;
  }

  private AttributeSet asked() {
    AttributeSet asked = AttributeSet$.MODULE$.empty();
    for (int i = 0; i < conditions.size(); i++) asked = asked.$plus$plus(((Expression) conditions.get(i)).references());
    return asked;
  }

  /** Whether it may be ended before it has run to its end. */
  public boolean mayEnd() {
    return !SideCost.fillsCache(other);
  }

  /**
   * Whether it may wait for a thread of Spark's pool that this thread is of: it broadcasts, say, while this one makes a broadcast. Where all
   * of the pool did so, they would wait for each other, and no limit would end them.
   */
  public boolean mayWaitForItself() {
    return PoolThreads.ofFew() && SideCost.waits(other);
  }

  /** Why the small side is not run at all; null where it may be. `spark.data_skip.join.maxBytes` is the most that it may read. */
  public String refusal(SQLConf conf) {
    Long most = UserSettings.joinMaxBytes(conf);
    String limit = UserSettings.joinMaxBytesText(conf);
    if (most != null && most.longValue() == 0) return "nothing is run first, by " + limit;
    if (!unrepeatable().isEmpty()) return side() + ": " + unrepeatable();
    if (most == null) return side() + ": " + limit + " is no size, as 33554432 or 32m are";
    return bytes() <= most.longValue() ? null : side() + " may read " + bytes() + " bytes, more than " + limit;
  }

  /** Why what is run may give other rows the next time; "" where it gives the same. */
  private String unrepeatable() {
    if (unrepeatable[0] == null) {
      String why = Repeatable.unrepeatable(other);
      if (why == null && !scalar) why = Repeatable.dependsOnColumns(other);
      unrepeatable[0] = why == null ? "" : why;
    }
    return unrepeatable[0];
  }

  /** The bytes that it must save at best. */
  public long leastSavedBytes() {
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

  /** The names of the scan's columns that equal something of the other side, where every condition says that of one; else none. */
  public List keys(Map names) {
    List result = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) {
      Expression condition = (Expression) conditions.get(i);
      boolean equality = condition instanceof EqualTo || condition instanceof EqualNullSafe;
      Object key = equality ? key((Expression) condition.children().head(), (Expression) condition.children().last(), names) : null;
      if (key == null && equality) key = key((Expression) condition.children().last(), (Expression) condition.children().head(), names);
      if (key == null) return new ArrayList();
      result.add(key);
    }
    return result;
  }

  private static Object key(Expression one, Expression rest, Map names) {
    scala.collection.Iterator references = rest.references().iterator();
    while (references.hasNext()) if (names.containsKey(((Attribute) references.next()).exprId())) return null;
    while (one instanceof Cast) one = ((Cast) one).child();
    return one instanceof Attribute ? names.get(((Attribute) one).exprId()) : null;
  }

  /** The conditions as text that is equal for equal conditions of another query. */
  public List encoded(Map names) {
    Map columns = new HashMap(names);
    scala.collection.immutable.Seq output = other.output();
    for (int i = 0; !scalar && i < output.size(); i++) columns.put(((Attribute) output.apply(i)).exprId(), "?" + i);
    List result = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) {
      Expression condition = (Expression) conditions.get(i);
      if (scalar) condition = KeyPredicates.replaced(condition, SideRows.subquery(condition), new Literal(null, SideRows.subquery(condition).dataType()));
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
    LogicalPlan plan = scalar ? Compared.of(other) : other;
    return java.util.Arrays.asList(new Object[] {Boolean.valueOf(scalar), plan.canonicalized(), new HashSet(forms)});
  }

  /** Runs the small side: what its rows say of the scan's, as a predicate of the scan alone; null where they say nothing. */
  public Expression resolve(SparkSession session) {
    return new SideRows(conditions, other).resolve(session, scalar);
  }
}
