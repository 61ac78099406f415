package data_skip;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.internal.SQLConf$;

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
      if (!everything && withOtherRules()) bare = unwrapped(bare);
      final SparkSession asking = asking();
      if (asking == null) return bare;
      final Map why = new WeakHashMap(); // relations hold lists of files
      List scans = scans(bare);
      if (!everything && !SmallSide.running()) { // whose files are those of the query that it is run for
        LogicalPlan followed = contracts.followed(bare, scans, asking, why);
        if (followed != bare) scans = scans(bare = SnapshotFileIndex.ofOneVersion(followed));
      }
      boolean asks = asks(bare);
      if (asks) tellMeddling(bare, why);
      if (!everything && !asks && !Contracts.told(scans, why)) return bare;
      final Left left = new Left(bare, scans, asking, why);
      final Map indexed = everything ? null : indexed(scans, left);
      if (!everything && indexed.isEmpty()) {
        left.keepPlan();
        return bare;
      }
      Map sampled = Sampled.of(bare);
      tellSampled(sampled, why);
      final Set[] ordered = OrderOfRows.of(bare);
      final SameFiles same = new SameFiles();
      tellOrdered(ordered[0], why);
      boolean mistaken = isMistaken(bare);
      for (int i = 0; mistaken && i < scans.size(); i++) why.putIfAbsent(((LogicalRelation) scans.get(i)).relation(), MISTAKEN);
      left.onlySome();
      final SideTime time = new SideTime();
      LogicalPlan rewritten = Descent.rewritten(bare, mistaken, sampled.keySet(), ordered, new BiFunction() {
        private int number = -1;

        public Object apply(Object node, Object place) {
          number++;
          LogicalRelation scan = (LogicalRelation) node;
          AskedScan asked = asked(scan, (Place) place, asking, time, why);
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
      if (!everything) left.keepPlan();
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

  private static boolean isMistaken(LogicalPlan plan) {
    return Alike.areMistaken(AsRun.withoutPruning(plan));
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
    List below = scans(operator);
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
  private Map indexed(List scans, Left left) throws java.io.IOException {
    Map found = new IdentityHashMap();
    if (scans.isEmpty()) return found;
    Indexed[] known = tables.of(left.roots);
    if (known == null) known = said(left);
    else left.isUntold = true;
    for (int i = 0; i < known.length; i++) if (known[i].exists()) found.put(((LogicalRelation) scans.get(i)).relation(), known[i]);
    return found;
  }

  /** What Python says of the tables of some scans; it is told of those that will stay as they are. */
  private Indexed[] said(Left left) throws java.io.IOException {
    long asked = tables.forgotten();
    List roots = left.roots; // of all
    Connection.answersAtOnce();
    Map json = new HashMap();
    json.put("execution_id", Plans.executionId(left.asking));
    json.put("number", new Long(left.number));
    json.put("roots", roots);
    String number = SmallSide.running() ? "" : Kept.keep(left); // of such a side the query tells by itself
    json.put("kept", number);
    json.put("decide_seconds", new Double(UserSettings.decideSeconds(left.asking.sessionState().conf())));
    String said = null;
    try {
      said = (String) python.apply("indexed\n" + Plans.json(json), null);
    } finally {
      if (said == null) Kept.forget(number);
    }
    if (said == null) return new Indexed[0];
    Indexed[] known = Indexed.of(Kept.withoutForgotten(said));
    tables.put(roots, known, asked);
    return known;
  }

  /** The scans of a plan and its sub-queries whose files could be chosen. */
  private static List scans(LogicalPlan plan) {
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

  private static boolean eligible(LogicalRelation scan) {
    if (scan.isStreaming() || !(scan.relation() instanceof HadoopFsRelation)) return false;
    FileIndex location = ((HadoopFsRelation) scan.relation()).location();
    return location instanceof PartitioningAwareFileIndex || location instanceof CatalogFileIndex || location instanceof SnapshotFileIndex;
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

  private static LogicalPlan unwrapped(LogicalPlan plan) {
    return (LogicalPlan) plan.transformUpWithSubqueries(
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object node) {
            return wrapped(node) != null;
          }

          public Object applyOrElse(Object node, scala.Function1 otherwise) {
            FileIndex wrapped = wrapped(node);
            return wrapped == null ? otherwise.apply(node) : Relations.withLocation((LogicalRelation) node, wrapped);
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
  private AskedScan asked(LogicalRelation scan, Place place, SparkSession asking, SideTime time, Map why) {
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

  /**
   * The scans of a query that stay as they are: what there is to tell of them is found once somebody looks at its report. The plan of the last
   * query with any is kept for that, those before as long as Spark keeps them: plans hold lists of files.
   */
  public final class Left {
    private final WeakReference plan;
    private final SparkSession asking;
    private final Map why;
    private List roots = new ArrayList(); // of each
    private boolean isUntold; // Python does not know of it
    private final long number = AskedScan.nextNumber(); // that no scan has
    private Map places; // on the way through the plan, and of each whether its table has an index; null: all of them stay, and none has one

    private Left(LogicalPlan plan, List scans, SparkSession asking, Map why) {
      this.plan = new WeakReference(plan);
      this.asking = asking;
      this.why = why;
      for (int i = 0; i < scans.size(); i++) roots.add(Description.roots((LogicalRelation) scans.get(i)));
    }

    private void onlySome() {
      places = new HashMap();
      roots = new ArrayList();
    }

    private void add(int place, LogicalRelation scan, boolean hasIndex) {
      places.put(new Integer(place), Boolean.valueOf(hasIndex));
      roots.add(Description.roots(scan));
    }

    /** Has the plan kept, and Python told, where there is something to tell of it. */
    private void keepPlan() {
      if (roots.isEmpty() || SmallSide.running()) return; // of such a side the query tells by itself
      lastLeft = (LogicalPlan) plan.get();
      if (isUntold) answers.left(Plans.executionId(asking), number, Kept.keep(this));
    }

    /** JSON: the roots of each. */
    public String roots() {
      return Plans.json(roots);
    }

    /** Those of whose rows something is known: what lists each, and JSON, whether its table has an index, and why no more is asked of it. */
    public Object[] scans() {
      final LogicalPlan kept = (LogicalPlan) plan.get();
      if (kept == null) return null;
      final List result = new ArrayList();
      SQLConf$.MODULE$.withExistingConf(asking.sessionState().conf(), new scala.runtime.AbstractFunction0() {
        public Object apply() {
          return Descent.rewritten(kept, isMistaken(kept), Sampled.of(kept).keySet(), OrderOfRows.of(kept), new BiFunction() {
            private int number = -1;

            public Object apply(Object scan, Object place) {
              number++;
              Boolean hasIndex = places == null ? Boolean.FALSE : (Boolean) places.get(new Integer(number));
              if (hasIndex == null) return scan;
              AskedScan found = asked((LogicalRelation) scan, (Place) place, asking, new SideTime(), why);
              if (found == null || (places == null && !found.isAsked() && !found.isTold())) return scan;
              found.description(); // by these settings
              Map told = new HashMap();
              told.put("has_index", hasIndex);
              told.put("why", hasIndex.booleanValue() ? found.whyLess() : new ArrayList());
              result.add(new Object[] {found, Plans.json(told)});
              return scan;
            }
          });
        }
      });
      return result.toArray();
    }
  }

  /** The session of the query; null where the settings in force are not its own. */
  private static SparkSession asking() {
    scala.Option active = org.apache.spark.sql.classic.SparkSession$.MODULE$.getActiveSession();
    boolean own = active.isDefined() && ((SparkSession) active.get()).sessionState().conf() == org.apache.spark.sql.internal.SQLConf.get();
    return own ? (SparkSession) active.get() : null;
  }
}
