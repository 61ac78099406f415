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
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/** Asks Spark: evaluates nodes of the query's own tree on given values of sub-expressions ("targets"). A node is known by its number. */
public final class Evaluator {
  private static final byte FALSE = 0;
  private static final byte TRUE = 1;
  private static final byte NULL = 2;
  private static final byte ERROR = 3;
  private static final Object CHECKED = new Object(); // marks nodes of which there is an AnsiForm to be made

  private final List nodes;

  public Evaluator(List nodes) {
    this.nodes = nodes;
  }

  public Expression node(int id) {
    return (Expression) nodes.get(id);
  }

  /**
   * The node, with every target replaced by the value in column 0 (targets after the next `;` by that in column 1, and so on); null when
   * something else remains that needs a row, or a Python worker.
   */
  private Expression bind(int id, String targets) {
    return bind(id, targets, "");
  }

  /** As `bind`, with the nodes `checked` (numbers, with commas) in the form that raises an error instead of wrapping round: its values are others. */
  private Expression bind(int id, String targets, String checked) {
    IdentityHashMap replaced = new IdentityHashMap();
    String[] unsafe = checked.split(",");
    for (int i = 0; i < unsafe.length; i++) if (!unsafe[i].isEmpty()) replaced.put(node(Integer.parseInt(unsafe[i])), CHECKED);
    String[] columns = targets.split(";");
    for (int column = 0; column < columns.length; column++) {
      String[] ids = columns[column].split(",");
      for (int i = 0; i < ids.length && !columns[column].isEmpty(); i++) {
        Expression target = node(Integer.parseInt(ids[i]));
        replaced.put(target, new BoundReference(column, target.dataType(), true));
      }
    }
    return bound(node(id), replaced);
  }

  /** The expression with sub-expressions replaced (or, where they are to be CHECKED, in that form); null as for `bind`, or where jobs differ. */
  public Expression bound(Expression expression, IdentityHashMap replaced) {
    if (Doubtful.anywhere(expression, replaced)) return null;
    Expression bound = replace(expression, replaced);
    return bound.references().isEmpty() && bound.deterministic() && evaluable(bound, new ArrayList()) ? bound : null;
  }

  /** Whether the JVM can evaluate the expression: a Python function cannot be, nor a variable (by id) of a lambda function that is not part of it. */
  private static boolean evaluable(Expression expression, List variables) {
    if (expression instanceof NamedLambdaVariable) return variables.contains(((NamedLambdaVariable) expression).exprId());
    if (expression instanceof LambdaFunction) {
      variables = new ArrayList(variables);
      scala.collection.Iterator arguments = ((LambdaFunction) expression).arguments().iterator();
      while (arguments.hasNext()) variables.add(((NamedExpression) arguments.next()).exprId());
    }
    if (expression instanceof Unevaluable) return expression.getClass().getSimpleName().equals("ResolvedCollation"); // of COLLATE, never evaluated
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
   * The truth of boolean node `id` for each row of an Arrow stream, with a column for each of the targets.
   * One byte a value: 0 false, 1 true, 2 null, 3 "Spark raises an error here".
   */
  public byte[] evaluate(int id, String targets, byte[] arrowStream) throws Exception {
    final Expression bound = bind(id, targets);
    if (bound == null) return null;
    return answers(types(targets), arrowStream, new Answer() {
      public byte of(InternalRow row) {
        return truth(bound, row);
      }
    });
  }

  /** What is asked of each row of an Arrow stream. */
  public abstract static class Answer {
    public abstract byte of(InternalRow row) throws java.io.IOException;
  }

  /** The types of targets; null for one that stands nowhere. */
  private DataType[] types(String targets) {
    String[] columns = targets.split(";");
    DataType[] types = new DataType[columns.length];
    for (int i = 0; i < types.length; i++) types[i] = columns[i].isEmpty() ? null : node(Integer.parseInt(columns[i].split(",")[0])).dataType();
    return types;
  }

  /** One byte for each row of an Arrow stream with columns of these types, as rows of a job: decimals, say, are held as they are there. */
  public static byte[] answers(DataType[] types, byte[] arrowStream, Answer answer) throws Exception {
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
        for (int i = 0; i < root.getRowCount(); i++) result.write(answer.of((InternalRow) asInJob.apply(batch.getRow(i))));
      }
      return result.toByteArray();
    } finally {
      reader.close();
      allocator.close();
    }
  }

  private static byte truth(Expression bound, InternalRow row) {
    try {
      Object value = bound.eval(row);
      return value == null ? NULL : ((Boolean) value).booleanValue() ? TRUE : FALSE;
    } catch (Exception e) {
      return ERROR;
    }
  }

  /** The value of a node, as text, for the one row of an Arrow stream; null where it is NULL or an error, or cannot be evaluated. */
  public String value(int id, String targets, byte[] arrowStream) throws Exception {
    final Expression bound = bind(id, targets);
    if (bound == null) return null;
    final String[] found = new String[1];
    answers(types(targets), arrowStream, new Answer() {
      public byte of(InternalRow row) {
        Object value = evaluated(bound, row);
        found[0] = value == null ? null : value.toString();
        return 0;
      }
    });
    return found[0];
  }

  /**
   * The values of a node, as text, for each row of an Arrow stream: how many bytes it has (-1: NULL, -2: Spark raises an error here), then
   * the bytes. null where it cannot be evaluated.
   */
  public byte[] texts(int id, String targets, byte[] arrowStream) throws Exception {
    final Expression bound = bind(id, targets);
    if (bound == null) return null;
    java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream();
    final java.io.DataOutputStream result = new java.io.DataOutputStream(bytes);
    answers(types(targets), arrowStream, new Answer() {
      public byte of(InternalRow row) throws java.io.IOException {
        try {
          Object value = bound.eval(row);
          byte[] text = value == null ? null : value instanceof UTF8String ? ((UTF8String) value).getBytes() : value.toString().getBytes("UTF-8");
          result.writeInt(text == null ? -1 : text.length);
          if (text != null) result.write(text);
        } catch (Exception e) {
          result.writeInt(-2);
        }
        return 0;
      }
    });
    return bytes.toByteArray();
  }

  /** What a cast gives of each row of an Arrow stream of one column, as JSON of values (see TreeEncoder); null where one of them raises an error. */
  public String cast(String from, String to, String zone, byte[] arrowStream) throws Exception {
    DataType type = (DataType) CatalystSqlParser$.MODULE$.parseDataType(to);
    Expression operand = new BoundReference(0, (DataType) CatalystSqlParser$.MODULE$.parseDataType(from), true);
    final Expression cast = Cast$.MODULE$.apply(operand, type, scala.Option.apply(zone), true);
    final List values = new ArrayList();
    byte[] raised = answers(new DataType[] {operand.dataType()}, arrowStream, new Answer() {
      public byte of(InternalRow row) {
        try {
          values.add(TreeEncoder.value(cast.eval(row), cast.dataType()));
          return FALSE;
        } catch (Exception e) {
          return ERROR;
        }
      }
    });
    return values.size() < raised.length ? null : Plans.json(values);
  }

  /** The pickled code of a Python function; null where the node is something else. */
  public byte[] pythonFunction(int id) {
    if (!(node(id) instanceof PythonUDF)) return null;
    PythonUDF function = (PythonUDF) node(id);
    scala.collection.Iterator code = function.func().command().iterator();
    java.io.ByteArrayOutputStream result = new java.io.ByteArrayOutputStream();
    while (code.hasNext()) result.write(((Byte) code.next()).byteValue());
    return result.toByteArray();
  }

  private static Object evaluated(Expression bound, InternalRow row) {
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
  public String bisect(int function, int constant, String targets, String checked) {
    try {
      Expression bound = bind(function, targets);
      if (bound == null || !node(constant).foldable()) return null;
      return Bisection.of(bound, bind(function, targets, checked), types(targets)[0], node(constant));
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
