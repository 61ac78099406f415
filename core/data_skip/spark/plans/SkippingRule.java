package data_skip;

import java.lang.ref.WeakReference;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Wraps the FileIndex of every file relation of whose rows something is known by what stands above it (Descent, Operators).
 *
 * A scan of whose table there is no index stays as it is: Spark runs once what stands twice in a plan (exchanges, the build side of dynamic
 * partition pruning), and knows it by equality.
 */
public final class SkippingRule extends Rule {
  private static final String MIXED = "Python functions that were given different environments, or archives, run in those of others: of none is known what it gives";
  private static final String SHARED =
      "Python functions are given one argument, and one without a version (data_skip.versioned) may change it in place: of none is known what it gives";
  private static final String MISTAKEN =
      "Spark may take expressions of this query for each other that are not the same, as sums of fractions in another order: which it runs is not known";
  private static final String ORDERED =
      "this query compares what goes by the order of rows, as a sum of fractions, first(x), row_number() or a LIMIT, with the same of this table:"
          + " of each of its scans is used what all of them ask";

  private final BiFunction python;
  private final boolean everything;
  private final Contracts contracts;
  private final Answers answers = new Answers();
  private final Tables tables = new Tables();
  private volatile String left = ""; // Spark's number of the last query that it left alone, as skipping was off
  private volatile String leftBefore = "";
  private volatile LogicalPlan lastLeft; // of which scans stayed as they were: kept for its report
  private final ThreadLocal last = new ThreadLocal(); // the plan that it made before

  /** everything: scans are wrapped as well of whose tables there is no index, so that they can be looked at. */
  public SkippingRule(BiFunction python, boolean everything) {
    this.python = python;
    this.everything = everything;
    this.contracts = new Contracts(python);
  }

  /** What Python has decided of scans of the plans that it was given. */
  public Answers answers() {
    return answers;
  }

  /** What Python has said of the tables of those plans. */
  public Tables tables() {
    return tables;
  }

  public String ruleName() {
    return "data_skip.SkippingRule";
  }

  public TreeNode apply(TreeNode given) {
    TreeNode plan = given instanceof Subquery ? given : SnapshotFileIndex.ofOneVersion((LogicalPlan) given);
    if (!UserSettings.enabled(org.apache.spark.sql.internal.SQLConf.get())) return leftAlone(plan);
    if (plan instanceof Subquery) return plan; // Spark optimises it first by itself; it is rewritten with the plan that it stands in
    WeakReference made = (WeakReference) last.get();
    if (made != null && made.get() == plan) return plan; // nothing changed it
    LogicalPlan bare = (LogicalPlan) plan;
    try {
      if (!everything && withOtherRules()) bare = FileScans.unwrapped(bare);
      final SparkSession asking = asking();
      if (asking == null) return bare;
      final Map why = new WeakHashMap(); // relations hold lists of files
      List scans = FileScans.of(bare);
      if (!everything && !SmallSide.running()) { // whose files are those of the query that it is run for
        LogicalPlan followed = contracts.followed(bare, scans, asking, why);
        if (followed != bare) scans = FileScans.of(bare = SnapshotFileIndex.ofOneVersion(followed));
      }
      boolean asks = asks(bare);
      if (asks) tellMeddling(bare, why);
      if (!everything && !asks && !Contracts.told(scans, why)) return bare;
      final LeftScans left = new LeftScans(bare, scans, asking, why);
      final Map indexed = everything ? null : indexed(scans, left);
      if (!everything && indexed.isEmpty()) {
        keep(left);
        return bare;
      }
      Map sampled = Sampled.of(bare);
      tellSampled(sampled, why);
      final Set[] ordered = OrderOfRows.of(bare);
      final SameFiles same = new SameFiles();
      tellOrdered(ordered[0], why);
      boolean mistaken = Descent.isMistaken(bare);
      for (int i = 0; mistaken && i < scans.size(); i++) why.putIfAbsent(((LogicalRelation) scans.get(i)).relation(), MISTAKEN);
      left.onlySome();
      final SideTime time = new SideTime();
      LogicalPlan rewritten = Descent.rewritten(bare, mistaken, sampled.keySet(), ordered, new BiFunction() {
        private int number = -1;

        public Object apply(Object node, Object place) {
          number++;
          LogicalRelation scan = (LogicalRelation) node;
          AskedScan asked = FileScans.asked(scan, (Place) place, asking, time, why);
          if (asked == null) return scan;
          Indexed known = everything ? null : (Indexed) indexed.get(scan.relation());
          boolean hasIndex = everything || known != null;
          if (hasIndex && (asked.isBySetting() || asked.isAsked() && (everything || asked.isServed(known)))) {
            asked.description(); // by the settings in force now
            Decisions decisions = new Decisions(python, known == null ? null : known.version(), answers);
            SameFiles others = ordered[0].contains(scan) ? same : null;
            return Relations.withLocation(scan, new SkippingFileIndex(asked, decisions, others));
          }
          left.add(number, scan, known != null);
          return scan;
        }
      });
      if (!everything) keep(left);
      if (rewritten != bare) last.set(new WeakReference(rewritten));
      return rewritten;
    } catch (Throwable unknown) {
      return bare; // a query that cannot be helped is left as it is
    }
  }

  /** Tells of scans below functions that meddle with each other, that nothing is known of what these give. */
  private static void tellMeddling(LogicalPlan plan, final Map why) {
    if (!plan.containsPattern(TreePattern$.MODULE$.PYTHON_UDF())) return;
    plan.foreachWithSubqueries(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            if (!(node instanceof BaseEvalPython)) return null;
            boolean mixed = Meddling.mixesEnvironments(((BaseEvalPython) node).udfs());
            if (!mixed && !Meddling.sharesArguments(((BaseEvalPython) node).udfs())) return null;
            tellBelow((LogicalPlan) node, mixed ? MIXED : SHARED, why);
            return null;
          }
        });
  }

  /** Tells of scans below a sample, or what gives rows as one does: see Descent. */
  private static void tellSampled(Map sampled, Map why) {
    java.util.Iterator each = sampled.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry operator = (Map.Entry) each.next();
      tellBelow((LogicalPlan) operator.getKey(), (String) operator.getValue(), why);
    }
  }

  private static void tellBelow(LogicalPlan operator, String told, Map why) {
    List below = FileScans.of(operator);
    for (int i = 0; i < below.size(); i++) why.putIfAbsent(((LogicalRelation) below.get(i)).relation(), told);
  }

  private static void tellOrdered(Set scans, Map why) {
    java.util.Iterator each = scans.iterator();
    while (each.hasNext()) why.putIfAbsent(((LogicalRelation) each.next()).relation(), ORDERED);
  }

  /** Whether anything in a plan or its sub-queries asks something of rows: see Operators. */
  private static boolean asks(LogicalPlan plan) {
    return plan.containsPattern(TreePattern$.MODULE$.FILTER()) || plan.containsPattern(TreePattern$.MODULE$.JOIN());
  }

  /** By the relations of scans, what is known of their tables' indexes; of those that have any. */
  private Map indexed(List scans, LeftScans left) throws java.io.IOException {
    Map found = new IdentityHashMap();
    if (scans.isEmpty()) return found;
    Indexed[] known = tables.of(left.tables());
    if (known == null) known = said(left);
    else left.setUntold();
    for (int i = 0; i < known.length; i++) if (known[i].exists()) found.put(((LogicalRelation) scans.get(i)).relation(), known[i]);
    return found;
  }

  /** What Python says of the tables of some scans; it is told of those that will stay as they are. */
  private Indexed[] said(LeftScans left) throws java.io.IOException {
    long asked = tables.forgotten();
    Connection.answersAtOnce();
    String number = SmallSide.running() ? "" : Kept.keep(left); // of such a side the query tells by itself
    String said = null;
    try {
      said = (String) Connection.ask(python, "indexed\n" + left.question(number), null);
    } finally {
      if (said == null) Kept.forget(number);
    }
    if (said == null) return new Indexed[0];
    Indexed[] known = Indexed.of(Kept.withoutForgotten(said));
    tables.put(left.tables(), known, asked);
    return known;
  }

  private void keep(LeftScans left) {
    LogicalPlan plan = left.kept(answers);
    if (plan != null) lastLeft = plan;
  }

  private TreeNode leftAlone(TreeNode plan) {
    SparkSession asking = asking();
    String query = asking == null ? "" : Plans.executionId(asking);
    if (!query.isEmpty() && !query.equals(left)) {
      leftBefore = left;
      left = query;
    }
    return plan;
  }

  /** Spark's number of the last query, but one that runs, for which skipping was off; "" where there is none. */
  public String lastLeftAlone(String but) {
    return left.equals(but) ? leftBefore : left;
  }

  /** From now on, that is `query`. */
  public void setLastLeftAlone(String query) {
    left = query;
  }

  /**
   * Whether the user's session has rules of its own beside this one. They may have changed what a plan asks since its scans were wrapped:
   * Spark runs all of them until none changes it, so that scans are then wrapped anew, by the predicates of the last plan.
   */
  private static boolean withOtherRules() {
    SparkSession asking = asking();
    return asking != null && asking.experimental().extraOptimizations().size() > 1;
  }

  /** The session of the query; null where the settings in force are not its own. */
  private static SparkSession asking() {
    scala.Option active = org.apache.spark.sql.classic.SparkSession$.MODULE$.getActiveSession();
    boolean own = active.isDefined() && ((SparkSession) active.get()).sessionState().conf() == org.apache.spark.sql.internal.SQLConf.get();
    return own ? (SparkSession) active.get() : null;
  }
}
