package data_skip;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf$;

/**
 * The scans of a query that stay as they are: what there is to tell of them is found once somebody looks at its report. The plan of the last
 * query with any is kept for that, those before as long as Spark keeps them: plans hold lists of files.
 */
public final class LeftScans {
  private final WeakReference plan;
  private final SparkSession asking;
  private final Map why;
  private List roots = new ArrayList(); // of each
  private boolean isUntold; // Python does not know of it
  private final long number = AskedScan.nextNumber(); // that no scan has
  private Map places; // on the way through the plan, and of each whether its table has an index; null: all of them stay, and none has one

  public LeftScans(LogicalPlan plan, List scans, SparkSession asking, Map why) {
    this.plan = new WeakReference(plan);
    this.asking = asking;
    this.why = why;
    for (int i = 0; i < scans.size(); i++) roots.add(Description.roots((LogicalRelation) scans.get(i)));
  }

  /** From now on these are only those that are added. */
  public void onlySome() {
    places = new HashMap();
    roots = new ArrayList();
  }

  /** place: on the way through the plan. */
  public void add(int place, LogicalRelation scan, boolean hasIndex) {
    places.put(new Integer(place), Boolean.valueOf(hasIndex));
    roots.add(Description.roots(scan));
  }

  /** Notes that Python does not know of these yet. */
  public void setUntold() {
    isUntold = true;
  }

  /** The plan that is to be kept, where there is something to tell of it; else null. answers: by which Python hears of it, once it asks. */
  public LogicalPlan kept(Answers answers) {
    if (roots.isEmpty() || SmallSide.running()) return null; // of such a side the query tells by itself
    if (isUntold) answers.left(Plans.executionId(asking), number, Kept.keep(this));
    return (LogicalPlan) plan.get();
  }

  /** The question to Python for the indexes of all these tables, which tells it of them; kept: by which number Kept has them, "" if not. */
  public String question(String kept) {
    Map json = new HashMap();
    json.put("execution_id", Plans.executionId(asking));
    json.put("number", new Long(number));
    json.put("roots", roots);
    json.put("kept", kept);
    json.put("decide_seconds", new Double(UserSettings.decideSeconds(asking.sessionState().conf())));
    return Plans.json(json);
  }

  /** Of each the roots of its table. */
  public List tables() {
    return roots;
  }

  /** As `tables`, in JSON. */
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
        return Descent.rewritten(kept, Descent.isMistaken(kept), Sampled.of(kept).keySet(), OrderOfRows.of(kept), new BiFunction() {
          private int number = -1;

          public Object apply(Object scan, Object place) {
            number++;
            Boolean hasIndex = places == null ? Boolean.FALSE : (Boolean) places.get(new Integer(number));
            if (hasIndex == null) return scan;
            AskedScan found = FileScans.asked((LogicalRelation) scan, (Place) place, asking, new SideTime(), why);
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
