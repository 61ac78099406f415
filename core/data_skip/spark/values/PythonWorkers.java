package data_skip;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.classic.SparkSession;

/**
 * What expressions with Python functions give, by Spark's own workers: the same interpreter, environment and conversions as the query's.
 *
 * Python asks while it chooses files: inside of a callback, where no query is started. So what is asked is gathered, every answer is ASKED
 * for the time being, and once the callback has returned `run` finds the answers, for Python to ask again. Where a function raises an error,
 * for one value or because a value is NULL, and where too much is asked, they are UNKNOWN.
 */
public final class PythonWorkers {
  public static final Object ASKED = new Object();
  public static final Object UNKNOWN = new Object();
  private static final int MOST_ROUNDS = 3; // answers may lead to other questions
  private static final int MOST_FAILURES = 16; // after each the values are halved, to find those for which a function raises an error
  private static final int MOST_KNOWN = 1000;
  private static final long MINUTE = 60000000000L; // nanoseconds
  private static final long ALWAYS = Long.MAX_VALUE / 2;
  // Functions of some columns that raise errors, by each of which Spark ends a worker: until when they are not asked of NULL, or of any value.
  private static final Map OF_NULL = Collections.synchronizedMap(new HashMap());
  private static final Map OF_ANY = Collections.synchronizedMap(new HashMap());
  private static final int MOST_OF_A_JOB = 100; // expressions
  private static final int MOST_ROWS = 10000; // of a batch: Spark's own default
  private static final int MOST_BYTES = 1 << 20; // of the values of a batch, far below what later versions of Spark cut batches at

  private static final int WORTH = 100; // a question that skipped nothing is put again when this many times as long has passed as it took
  private static final Map GAINLESS = Collections.synchronizedMap(new HashMap()); // of such ones until when they are not put

  private Expression predicate; // of the scan; null: none
  private final Map subjects = new LinkedHashMap();
  private final List put = new ArrayList(); // the questions, as GAINLESS has them
  private long taken; // nanoseconds that jobs took
  private int rounds;
  private int failures;
  private boolean answered; // something of those that are asked side by side
  private TimeLimit limit;

  /** An expression over some attributes, the rows of their values that it is asked of, and its answers. */
  private static final class Subject {
    final Expression expression;
    final List attributes;
    final List rows = new ArrayList();
    final List answers = new ArrayList();
    final Map questions = new LinkedHashMap(); // the rows as they were asked about -> place of the first
    boolean unsteady; // it gives a row something else in another batch: then skipping a file may change what it gives the rows of others

    Subject(Expression expression, List attributes) {
      this.expression = expression;
      this.attributes = attributes;
    }

    /** Equal for subjects that one job may answer. */
    List rowsAsAsked() {
      List result = new ArrayList(questions.keySet());
      for (int i = 0; i < attributes.size(); i++) result.add(((Expression) attributes.get(i)).dataType());
      return result;
    }

    /** The expression over the attributes of another subject. */
    Expression over(List others) {
      Map byId = new HashMap();
      for (int i = 0; i < attributes.size(); i++) byId.put(((Attribute) attributes.get(i)).exprId(), others.get(i));
      return Substitution.substitute(expression, byId);
    }
  }

  /** Tells the predicate in which functions are asked about: what they gain in one they need not in another. */
  public void within(Expression predicate) {
    this.predicate = predicate;
  }

  /** Whether a subject of this key is known, so that it need not be told again. */
  public boolean knows(String key) {
    return subjects.containsKey(key);
  }

  /** Tells an expression over some attributes; false where it is not served. */
  public boolean tell(String key, Expression expression, List attributes) {
    boolean served = PythonBatches.of(Collections.singletonList(expression), attributes) != null;
    if (served) subjects.put(key, new Subject(expression, attributes));
    return served;
  }

  /** What the expression gives for each of the rows, which `asked` tells from others. */
  public List answers(String key, byte[] asked, List rows) {
    Subject subject = (Subject) subjects.get(key);
    ByteBuffer question = ByteBuffer.wrap(asked);
    if (!subject.questions.containsKey(question)) {
      Object asking = question(subject, asked);
      if (rounds == MOST_ROUNDS || isIn(GAINLESS, asking)) return Collections.nCopies(rows.size(), UNKNOWN);
      put.add(asking);
      subject.questions.put(question, new Integer(subject.rows.size()));
      subject.rows.addAll(rows);
      subject.answers.addAll(Collections.nCopies(rows.size(), ASKED));
    }
    if (rounds == MOST_ROUNDS) Collections.replaceAll(subject.answers, ASKED, UNKNOWN);
    if (subject.unsteady) Collections.fill(subject.answers, UNKNOWN);
    int first = ((Integer) subject.questions.get(question)).intValue();
    return subject.answers.subList(first, first + rows.size());
  }

  /** Forgets everything, for a new decision. */
  public void clear() {
    subjects.clear();
    put.clear();
    taken = 0;
    rounds = 0;
  }

  /**
   * Finds the answers. `spark.data_skip.python.maxSeconds` is how long functions may take (0: none is called), by which the time of a query
   * may grow: of what is not known by then, nothing is.
   */
  public void run(SparkSession session) {
    rounds = Math.min(rounds + 1, MOST_ROUNDS);
    failures = 0;
    double seconds = PoolThreads.most(UserSettings.pythonMaxSeconds(session.sessionState().conf()), session.sessionState().conf());
    limit = new TimeLimit(session.sparkContext(), seconds);
    try {
      List groups = groups();
      for (int i = 0; i < groups.size(); i++) find((List) groups.get(i), session);
    } finally {
      limit.close();
    }
  }

  /** Notes that no more files were skipped, whatever was answered: a query that gains nothing is not to take that much longer again. */
  public void gainedNothing() {
    for (int i = 0; i < put.size() && taken > 0; i++) note(GAINLESS, put.get(i), Math.max(MINUTE, WORTH * taken));
  }

  /** What is asked, beside whatever else a predicate has: other values, as of a table that has changed, are another question. */
  private Object question(Subject subject, byte[] asked) {
    String functions = PythonBatches.functions(subject.expression);
    try {
      MessageDigest digests = MessageDigest.getInstance("MD5");
      if (predicate != null) digests.update(shape(predicate).getBytes(java.nio.charset.StandardCharsets.UTF_8));
      byte[] digest = digests.digest(asked);
      return Arrays.asList(new Object[] {functions, subject.expression.sql(), ByteBuffer.wrap(digest)});
    } catch (NoSuchAlgorithmException none) {
      return new Object();
    }
  }

  /** An expression, whatever its literals are. */
  private static String shape(Expression expression) {
    if (expression instanceof Literal) return "?";
    StringBuilder text = new StringBuilder(expression instanceof Attribute ? ((Attribute) expression).name() : expression.prettyName()).append('(');
    String last = "";
    for (int i = 0; i < expression.children().size(); i++) {
      String child = shape((Expression) expression.children().apply(i));
      if (!child.equals("?") || !last.equals("?")) text.append(child).append(','); // of a list
      last = child;
    }
    return text.append(')').toString();
  }

  /** The subjects, side by side where one job may answer them: as those of an OR over the rows of a join. */
  private List groups() {
    List groups = new ArrayList();
    Map open = new HashMap();
    java.util.Iterator all = subjects.values().iterator();
    while (all.hasNext()) {
      Subject subject = (Subject) all.next();
      List group = (List) open.get(subject.rowsAsAsked());
      if (group == null || group.size() == MOST_OF_A_JOB || batches(group, subject) == null) {
        group = new ArrayList();
        groups.add(group);
        open.put(subject.rowsAsAsked(), group);
      }
      group.add(subject);
    }
    return groups;
  }

  /** The job of some subjects, and one more, if there is; null where one job does not do. */
  private static PythonBatches batches(List group, Subject more) {
    List attributes = ((Subject) group.get(0)).attributes;
    List expressions = new ArrayList();
    for (int i = 0; i < group.size(); i++) expressions.add(((Subject) group.get(i)).over(attributes));
    if (more != null) expressions.add(more.over(attributes));
    return PythonBatches.of(expressions, attributes);
  }

  private void find(List group, SparkSession session) {
    int most = MOST_ROWS;
    int users = session.sessionState().conf().arrowMaxRecordsPerBatch();
    if (users > 0) most = Math.min(most, users - 1); // and a row of NULL
    PythonBatches batches = batches(group, null);
    List all = ((Subject) group.get(0)).rows;
    List places = new ArrayList();
    long bytes = 0;
    Object asked = key(group, batches);
    boolean never = isIn(OF_ANY, asked);
    boolean notOfNull = isIn(OF_NULL, asked);
    int before = failures;
    answered = false;
    for (int place = 0; place < all.size(); place++) {
      if (((Subject) group.get(0)).answers.get(place) != ASKED) continue;
      for (int i = 0; i < group.size(); i++) ((Subject) group.get(i)).answers.set(place, UNKNOWN);
      if (never || (notOfNull && hasNull((InternalRow) all.get(place)))) continue;
      long size = PythonBatches.size((InternalRow) all.get(place));
      if (places.size() >= most || bytes + size > MOST_BYTES) {
        find(group, batches, places, session);
        places = new ArrayList();
        bytes = 0;
      }
      if (most > 0 && size <= MOST_BYTES) places.add(new Integer(place));
      bytes += size;
    }
    find(group, batches, places, session);
    if (!answered && failures > before && (failures >= MOST_FAILURES || limit.isOver())) note(OF_ANY, asked, MINUTE);
  }

  /** Functions, and the columns of which they are asked: of another one, or later, they may raise none. */
  private static Object key(List group, PythonBatches batches) {
    List names = new ArrayList();
    List attributes = ((Subject) group.get(0)).attributes;
    for (int i = 0; i < attributes.size(); i++) names.add(((Attribute) attributes.get(i)).name());
    return Arrays.asList(new Object[] {batches.functions(), names});
  }

  private static void note(Map raising, Object asked, long nanoseconds) {
    if (raising.size() >= MOST_KNOWN) raising.clear();
    raising.put(asked, new Long(System.nanoTime() + nanoseconds));
  }

  private static boolean isIn(Map raising, Object asked) {
    Long until = (Long) raising.get(asked);
    return until != null && System.nanoTime() - until.longValue() < 0;
  }

  private void find(List group, PythonBatches batches, List places, SparkSession session) {
    if (places.isEmpty() || failures >= MOST_FAILURES || limit.isOver()) return;
    long start = System.nanoTime();
    try {
      List found = batches.run(session, ((Subject) group.get(0)).rows, places);
      answered = true;
      taken += System.nanoTime() - start;
      for (int i = 0; i < group.size(); i++) {
        Map answers = (Map) found.get(i);
        for (int j = 0; j < places.size(); j++) {
          Object place = places.get(j);
          Object answer = answers.containsKey(place) ? answers.get(place) : UNKNOWN;
          Subject subject = (Subject) group.get(i);
          subject.unsteady = subject.unsteady || answer == PythonBatches.CONFLICT;
          subject.answers.set(((Integer) place).intValue(), answer == PythonBatches.CONFLICT ? UNKNOWN : answer);
        }
      }
    } catch (SmallSide.Cancelled cancelled) {
      if (!limit.ended(cancelled)) throw cancelled;
      taken += System.nanoTime() - start;
    } catch (Exception raised) { // by a function, or since Spark cannot plan it so: the query will tell
      taken += System.nanoTime() - start;
      failures++;
      List nulls = new ArrayList();
      List others = new ArrayList();
      for (int j = 0; j < places.size(); j++) {
        InternalRow row = (InternalRow) ((Subject) group.get(0)).rows.get(((Integer) places.get(j)).intValue());
        (hasNull(row) ? nulls : others).add(places.get(j));
      }
      if (others.isEmpty() && answered) note(OF_NULL, key(group, batches), ALWAYS);
      if (places.size() < 2) return;
      boolean mixed = !nulls.isEmpty() && !others.isEmpty(); // most raise an error for NULL, if for anything
      int middle = places.size() / 2;
      find(group, batches, mixed ? others : places.subList(0, middle), session);
      find(group, batches, mixed ? nulls : places.subList(middle, places.size()), session);
    }
  }

  private static boolean hasNull(InternalRow row) {
    for (int i = 0; i < row.numFields(); i++) if (row.isNullAt(i)) return true;
    return false;
  }
}
