package data_skip;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.classic.SparkSession;

/**
 * A job that Python has made over the records of an index, which is run between two of its answers: no query is started inside of a callback.
 *
 * It is an RDD's, as Spark's own is when it lists many folders: so it is planned by no session, and needs no thread of Spark's pools. What is
 * set on this thread holds of it, as its group and its tags.
 */
public final class EvaluationJob {
  private final JavaRDD job;
  private final double seconds;
  private final String known;
  private final List found = new ArrayList(); // of each task
  private String why = "nobody has run them"; // they have found nothing; "" where they have
  private double taken;

  /** seconds: how long it may run at most. known: what Python is told of it again. */
  public EvaluationJob(JavaRDD job, double seconds, String known) {
    this.job = job;
    this.seconds = seconds;
    this.known = known;
  }

  /** Runs it for a session's query, which ends where somebody cancels it. */
  public void run(SparkSession asking) {
    SparkContext context = asking.sparkContext();
    long start = System.nanoTime();
    double most = PoolThreads.most(seconds, asking.sessionState().conf());
    TimeLimit limit = new TimeLimit(context, most);
    String before = SmallSide.describe(context, "data-skip: records of an index");
    try {
      List bytes = job.collect();
      for (int i = 0; i < bytes.size(); i++) found.add(Connection.text((byte[]) bytes.get(i)));
      why = "";
    } catch (Throwable raised) {
      boolean late = limit.ended(raised);
      if (!late && SmallSide.isCancelled(raised)) throw new SmallSide.Cancelled(raised);
      why = late ? "they took longer than " + UserSettings.shown(most) : String.valueOf(raised.getMessage());
    } finally {
      SmallSide.describe(context, before);
      limit.close();
      taken = (System.nanoTime() - start) / 1e9;
    }
  }

  /** What tasks have found, each in base64; or why they have not, and how long that took. */
  public Map told() {
    Map told = new LinkedHashMap();
    told.put("known", known);
    told.put("found", found);
    told.put("why", why);
    told.put("seconds", new Double(taken));
    return told;
  }
}
