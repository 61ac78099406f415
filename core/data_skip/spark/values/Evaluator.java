package data_skip;

import java.io.ByteArrayInputStream;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Asks Spark: evaluates nodes of the query's own tree on given values of sub-expressions ("targets"). A node is known by its number. */
public final class Evaluator {
  private static final byte FALSE = 0;
  private static final byte TRUE = 1;
  private static final byte NULL = 2;
  private static final byte ERROR = 3;
  private static final Object CHECKED = new Object(); // marks nodes of which there is an AnsiForm to be made

  private static final byte ASKED = 4;

  private final List nodes;
  private final PythonWorkers workers;

  public Evaluator(List nodes, PythonWorkers workers) {
    this.nodes = nodes;
    this.workers = workers;
  }

  public Expression node(int id) {
    return (Expression) nodes.get(id);
  }

  /** What Python means by `7`, node 7, or `!7`, NOT of it. */
  private Expression node(String place) {
    return place.startsWith("!") ? new Not(node(place.substring(1))) : node(Integer.parseInt(place));
  }

  /**
   * The node, with every target replaced by the value in column 0 (targets after the next `;` by that in column 1, and so on); null when
   * something else remains that needs a row, or a Python worker.
   */
  private Expression bind(String place, String targets) {
    return bind(place, targets, "");
  }

  /** As `bind`, with the nodes `checked` (numbers, with commas) in the form that raises an error instead of wrapping round: its values are others. */
  private Expression bind(String place, String targets, String checked) {
    IdentityHashMap replaced = new IdentityHashMap();
    String[] unsafe = checked.split(",");
    for (int i = 0; i < unsafe.length; i++) if (!unsafe[i].isEmpty()) replaced.put(node(Integer.parseInt(unsafe[i])), CHECKED);
    String[] columns = targets.split(";");
    for (int column = 0; column < columns.length; column++) {
      String[] ids = columns[column].split(",");
      for (int i = 0; i < ids.length && !columns[column].isEmpty(); i++) {
        Expression target = node(ids[i]);
        Expression given = new BoundReference(column, target.dataType(), true);
        if (ids[i].startsWith("!")) replaced.put(((Not) target).child(), new Not(given));
        else replaced.put(target, given);
      }
    }
    return bound(node(place), replaced);
  }

  /** The expression with sub-expressions replaced (or, where they are to be CHECKED, in that form); null as for `bind`, or where jobs differ. */
  public static Expression bound(Expression expression, IdentityHashMap replaced) {
    if (Doubtful.anywhere(expression, replaced)) return null;
    Expression alike = Localized.raising(replace(expression, replaced));
    Expression raising = alike == null ? null : Undated.raising(alike);
    Expression small = raising == null ? null : Bounded.raising(raising);
    boolean known = small != null && small.references().isEmpty() && small.deterministic() && evaluable(small, new ArrayList());
    return known && !PythonBatches.in(small) ? Unshared.of(small) : null; // of what is not evaluable there may be no copy, as of a sub-query
  }

  /**
   * What an expression that needs no row is in each job, as a literal; null where that is not known, as of an error. Jobs evaluate what the optimizer
   * has not folded: where its rule is excluded, and of what is found while planning, as the rows of a small side of a join.
   */
  public static Literal literal(Expression expression) {
    if (expression instanceof Literal) return (Literal) expression;
    Expression known = bound(expression, new IdentityHashMap());
    try {
      return known == null ? null : new Literal(new Repeated(known).eval(null), expression.dataType());
    } catch (Exception raised) {
      return null;
    }
  }

  /** Whether the JVM, or a Python worker, can evaluate the expression once its attributes are given: not so a variable (by id) of a lambda around it. */
  private static boolean evaluable(Expression expression, List variables) {
    if (expression instanceof NamedLambdaVariable) return variables.contains(((NamedLambdaVariable) expression).exprId());
    if (expression instanceof LambdaFunction) {
      variables = new ArrayList(variables);
      scala.collection.Iterator arguments = ((LambdaFunction) expression).arguments().iterator();
      while (arguments.hasNext()) variables.add(((NamedExpression) arguments.next()).exprId());
    }
    boolean given = expression instanceof PythonUDF || expression instanceof Attribute; // Unevaluable as well
    if (!given && expression instanceof Unevaluable) return expression.getClass().getSimpleName().equals("ResolvedCollation"); // of COLLATE, never evaluated
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      if (!evaluable((Expression) children.next(), variables)) return false;
    }
    return true;
  }

  private static Expression replace(Expression expression, final IdentityHashMap replaced) {
    Object replacement = replaced.get(expression);
    if (replacement != null && replacement != CHECKED) return (Expression) replacement;
    Expression copy = (Expression) expression.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) {
        return replace((Expression) child, replaced);
      }
    });
    return replacement == CHECKED ? AnsiForm.of(copy) : copy;
  }

  /**
   * The truth of a boolean node for each row of an Arrow stream, with a column for each of the targets.
   * One byte a value: 0 false, 1 true, 2 null, 3 "Spark raises an error here", 4 "ask again, once PythonWorkers have run".
   */
  public String evaluate(String place, String targets, byte[] arrowStream) throws Exception {
    return Connection.text(truths(place, targets, arrowStream));
  }

  private byte[] truths(String place, String targets, byte[] arrowStream) throws Exception {
    Expression expression = bind(place, targets);
    if (expression == null) return PythonBatches.in(node(place)) ? truths(byWorkers(place, targets, arrowStream)) : null;
    final Repeated bound = new Repeated(expression);
    return answers(expression, types(targets), arrowStream, new Answer() {
      public byte of(InternalRow row) {
        return truth(bound, row);
      }
    });
  }

  private static byte[] truths(List values) {
    if (values == null) return null;
    byte[] truths = new byte[values.size()];
    for (int i = 0; i < truths.length; i++) {
      Object value = values.get(i);
      truths[i] = value == PythonWorkers.ASKED ? ASKED : value == PythonWorkers.UNKNOWN ? ERROR : value == null ? NULL : ((Boolean) value).booleanValue() ? TRUE : FALSE;
    }
    return truths;
  }

  /** What a node that calls Python functions gives for each row of an Arrow stream, as PythonWorkers tell it; null where it cannot be put to them. */
  private List byWorkers(String place, String targets, byte[] arrowStream) throws Exception {
    final List attributes = new ArrayList();
    String[] columns = targets.split(";");
    String key = place + ":" + targets;
    IdentityHashMap replaced = new IdentityHashMap();
    for (int column = 0; column < columns.length; column++) {
      String[] ids = columns[column].split(",");
      if (columns[column].isEmpty()) return null;
      DataType type = node(ids[0]).dataType();
      AttributeReference attribute = new AttributeReference( // by its name PythonWorkers tells columns apart
          node(ids[0]).sql(), type, true, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Plans.noFilters());
      attributes.add(attribute);
      for (int i = 0; i < ids.length; i++) {
        Expression target = node(ids[i]);
        if (ids[i].startsWith("!")) replaced.put(((Not) target).child(), new Not(attribute));
        else replaced.put(target, attribute);
      }
    }
    if (PythonBatches.takesResults(node(place), replaced)) return null;
    if (!workers.knows(key)) {
      Expression expression = replace(node(place), replaced);
      scala.collection.Iterator references = expression.references().iterator();
      while (references.hasNext()) if (!attributes.contains(references.next())) return null;
      Expression small = Undated.hidden(expression, true) ? null : Bounded.raising(expression);
      if (small == null || !Determinism.holds(small) || !evaluable(small, new ArrayList())) return null;
      if (!workers.tell(key, Unshared.of(small), attributes)) return null;
    }
    final List rows = new ArrayList();
    answers(node(place), types(targets), arrowStream, new Answer() {
      public byte of(InternalRow row) {
        Object[] values = new Object[attributes.size()];
        for (int i = 0; i < values.length; i++) {
          values[i] = row.isNullAt(i) ? null : InternalRow.copyValue(row.get(i, ((Expression) attributes.get(i)).dataType()));
        }
        rows.add(new GenericInternalRow(values));
        return 0;
      }
    });
    return workers.answers(key, arrowStream, rows);
  }

  /** What is asked of each row of an Arrow stream. */
  public abstract static class Answer {
    public abstract byte of(InternalRow row) throws java.io.IOException;
  }

  /** The types of targets; null for one that stands nowhere. */
  private DataType[] types(String targets) {
    String[] columns = targets.split(";");
    DataType[] types = new DataType[columns.length];
    for (int i = 0; i < types.length; i++) types[i] = columns[i].isEmpty() ? null : node(columns[i].split(",")[0]).dataType();
    return types;
  }

  /** One byte for each row of an Arrow stream with columns of these types, by an answer that evaluates the expression: see InTime. */
  public static byte[] answers(Expression expression, final DataType[] types, final byte[] arrowStream, final Answer answer) throws Exception {
    return (byte[]) InTime.of(expression, new InTime.Work() {
      public Object done() throws Exception {
        return answers(types, arrowStream, answer);
      }
    });
  }

  /** The rows are as those of a job: decimals, say, are held as they are there. */
  private static byte[] answers(DataType[] types, byte[] arrowStream, Answer answer) throws Exception {
    List read = new ArrayList();
    for (int i = 0; i < types.length; i++) read.add(types[i] == null ? (Expression) new Literal(null, DataTypes.NullType) : new BoundReference(i, types[i], true));
    UnsafeProjection asInJob = InterpretedUnsafeProjection.createProjection(Plans.seq(read));
    BufferAllocator allocator = new RootAllocator();
    ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(arrowStream), allocator);
    try {
      java.io.ByteArrayOutputStream result = new java.io.ByteArrayOutputStream();
      VectorSchemaRoot root = reader.getVectorSchemaRoot();
      while (reader.loadNextBatch()) {
        ColumnVector[] columns = new ColumnVector[root.getFieldVectors().size()];
        for (int i = 0; i < columns.length; i++) columns[i] = new ArrowColumnVector((FieldVector) root.getVector(i));
        ColumnarBatch batch = new ColumnarBatch(columns, root.getRowCount());
        for (int i = 0; i < root.getRowCount(); i++) {
          if (Thread.currentThread().isInterrupted()) throw new InterruptedException("nobody waits any more"); // see InTime
          result.write(answer.of((InternalRow) asInJob.apply(batch.getRow(i))));
        }
      }
      return result.toByteArray();
    } finally {
      reader.close();
      allocator.close();
    }
  }

  private static byte truth(Repeated bound, InternalRow row) {
    try {
      Object value = bound.eval(row);
      return value == null ? NULL : ((Boolean) value).booleanValue() ? TRUE : FALSE;
    } catch (Exception e) {
      return ERROR;
    }
  }

  /**
   * The value of a node, as text, for the one row of an Arrow stream; null where it is NULL or an error, or cannot be evaluated; "ask" where
   * it is to be asked again, once PythonWorkers have run.
   */
  public String value(String place, String targets, byte[] arrowStream) throws Exception {
    List texts = texts(place, targets, arrowStream);
    if (texts != null) return (String) texts.get(0);
    List values = PythonBatches.in(node(place)) ? byWorkers(place, targets, arrowStream) : null;
    Object value = values == null ? null : values.get(0);
    return value == PythonWorkers.ASKED ? "ask" : value == null || value == PythonWorkers.UNKNOWN ? null : value.toString();
  }

  /** As `value`, for all rows of an Arrow stream, as a JSON array; null where the node cannot be evaluated here. */
  public String values(String place, String targets, byte[] arrowStream) throws Exception {
    List values = texts(place, targets, arrowStream);
    return values == null ? null : Plans.json(values);
  }

  private List texts(String place, String targets, byte[] arrowStream) throws Exception {
    Expression expression = bind(place, targets);
    if (expression == null) return null;
    final Repeated bound = new Repeated(expression);
    final List values = new ArrayList();
    answers(expression, types(targets), arrowStream, new Answer() {
      public byte of(InternalRow row) {
        Object value = evaluated(bound, row);
        values.add(value == null ? null : value.toString());
        return 0;
      }
    });
    return values;
  }

  /** What a cast gives of each row of an Arrow stream of one column, as JSON of values (see TreeEncoder); null where one of them raises an error. */
  public String cast(String from, String to, String zone, byte[] arrowStream) throws Exception {
    DataType type = (DataType) CatalystSqlParser$.MODULE$.parseDataType(to);
    Expression operand = new BoundReference(0, (DataType) CatalystSqlParser$.MODULE$.parseDataType(from), true);
    final Expression cast = Cast$.MODULE$.apply(operand, type, scala.Option.apply(zone), true);
    final Repeated repeated = new Repeated(cast);
    final List values = new ArrayList();
    byte[] raised = answers(cast, new DataType[] {operand.dataType()}, arrowStream, new Answer() {
      public byte of(InternalRow row) {
        try {
          values.add(TreeEncoder.value(repeated.eval(row), cast.dataType()));
          return FALSE;
        } catch (Exception e) {
          return ERROR;
        }
      }
    });
    return values.size() < raised.length ? null : Plans.json(values);
  }

  private static Object evaluated(Repeated bound, InternalRow row) {
    try {
      return bound.eval(row);
    } catch (Exception e) {
      return null;
    }
  }

  /**
   * Where node `function`, which is monotone in the targets, reaches and passes node `constant`: see Bisection. Where the nodes `checked`
   * overflow it has no value. Null where that is unknown.
   */
  public String bisect(String function, String constant, String targets, String checked) {
    try {
      final Expression bound = bind(function, targets);
      if (bound == null || !node(constant).foldable() || Undated.hidden(node(constant), true)) return null;
      final Expression raising = bind(function, targets, checked);
      final DataType type = types(targets)[0];
      final Expression compared = node(constant);
      return (String) InTime.of(bound, new InTime.Work() {
        public Object done() throws Exception {
          return Bisection.of(bound, raising, type, compared);
        }
      });
    } catch (Exception raised) {
      return null;
    }
  }

  public boolean fixedOffset(String zone) {
    return TimeZones.fixedOffset(zone);
  }

  public boolean datesAscend(String zone) {
    return TimeZones.datesAscend(zone);
  }

  /** The node in SQL, for people. */
  public String sql(int id) {
    return ReadableSql.of(node(id));
  }
}
