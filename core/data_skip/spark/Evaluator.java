package data_skip;

import java.io.ByteArrayInputStream;
import java.math.BigInteger;
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
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.PrettyAttribute;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/** Asks Spark: evaluates nodes of the query's own tree on given values of one sub-expression ("the target"). */
public final class Evaluator {
  private static final byte FALSE = 0;
  private static final byte TRUE = 1;
  private static final byte NULL = 2;
  private static final byte ERROR = 3;
  private static final int MOST_TEXT = 1000;

  private static final Object CHECKED = new Object();

  private final List nodes;

  public Evaluator(List nodes) {
    this.nodes = nodes;
  }

  public Expression node(int id) {
    return (Expression) nodes.get(id);
  }

  /** The node, with every target replaced by the value in column 0 (targets after the next `;` by that in column 1, and so on); null when something else remains that needs a row, or a Python worker. */
  private Expression bind(int id, String targets) {
    return bind(id, targets, "");
  }

  /** As `bind`, with the nodes `checked` (numbers, with commas) in the form that raises an error instead of wrapping round. */
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

  /** The expression with sub-expressions replaced (or, where they are to be CHECKED, in that form); null as for `bind`. */
  public Expression bound(Expression expression, IdentityHashMap replaced) {
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
    return replacement == CHECKED ? checked(copy) : copy;
  }

  /**
   * Spark's ANSI form of arithmetic or a cast. Where the other form (LEGACY) does not overflow, both give the same; where it wraps round,
   * this one raises an error.
   */
  public static Expression checked(Expression expression) {
    Object[] arguments = new Object[expression.productArity()];
    for (int i = 0; i < arguments.length; i++) arguments[i] = checkedArgument(expression.productElementName(i), expression.productElement(i));
    return (Expression) expression.makeCopy(arguments);
  }

  private static Object checkedArgument(String name, Object argument) {
    if (argument instanceof Boolean && (name.equals("failOnError") || name.equals("ansiEnabled"))) return Boolean.TRUE;
    if (argument instanceof scala.Enumeration.Value && argument.toString().equals("LEGACY")) return EvalMode$.MODULE$.ANSI();
    if (argument == null || !argument.getClass().getSimpleName().equals("NumericEvalContext")) return argument; // of later versions of Spark
    try {
      Object rest = ((scala.Product) argument).productElement(1);
      return argument.getClass().getConstructors()[0].newInstance(new Object[] {EvalMode$.MODULE$.ANSI(), rest});
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * The truth of boolean node `id` for each row of an Arrow stream, with a column for each of the targets.
   * One byte a value: 0 false, 1 true, 2 null, 3 "Spark raises an error here".
   */
  public byte[] evaluate(int id, String targets, byte[] arrowStream) throws Exception {
    final Expression bound = bind(id, targets);
    if (bound == null) return null;
    return answers(arrowStream, new Answer() {
      public byte of(InternalRow row) {
        return truth(bound, row);
      }
    });
  }

  /** What is asked of each row of an Arrow stream. */
  public abstract static class Answer {
    public abstract byte of(InternalRow row) throws java.io.IOException;
  }

  /** One byte for each row of an Arrow stream. */
  public static byte[] answers(byte[] arrowStream, Answer answer) throws Exception {
    BufferAllocator allocator = new RootAllocator();
    ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(arrowStream), allocator);
    try {
      java.io.ByteArrayOutputStream result = new java.io.ByteArrayOutputStream();
      VectorSchemaRoot root = reader.getVectorSchemaRoot();
      while (reader.loadNextBatch()) {
        ColumnVector[] columns = new ColumnVector[root.getFieldVectors().size()];
        for (int i = 0; i < columns.length; i++) columns[i] = new ArrowColumnVector((FieldVector) root.getVector(i));
        ColumnarBatch batch = new ColumnarBatch(columns, root.getRowCount());
        for (int i = 0; i < root.getRowCount(); i++) result.write(answer.of(batch.getRow(i)));
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
    answers(arrowStream, new Answer() {
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
    answers(arrowStream, new Answer() {
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
    byte[] raised = answers(arrowStream, new Answer() {
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

  /** The node in SQL, for reports: the beginning of what is long. */
  public String sql(int id) {
    String text = readable(node(id)).sql();
    return text.length() <= MOST_TEXT ? text : text.substring(0, MOST_TEXT) + "...";
  }

  /** With lambda functions as people write them, and constants of user-defined types as these write them. */
  private static Expression readable(Expression expression) {
    if (expression instanceof Literal && expression.dataType() instanceof UserDefinedType && ((Literal) expression).value() != null) {
      String text = String.valueOf(((UserDefinedType) expression.dataType()).deserialize(((Literal) expression).value()));
      return new PrettyAttribute("'" + text + "'", expression.dataType());
    }
    if (expression instanceof NamedLambdaVariable) {
      return new PrettyAttribute(((NamedLambdaVariable) expression).name(), expression.dataType());
    }
    if (expression instanceof LambdaFunction) {
      LambdaFunction lambda = (LambdaFunction) expression;
      String names = "";
      for (int i = 0; i < lambda.arguments().size(); i++) {
        names += (i > 0 ? ", " : "") + ((NamedExpression) lambda.arguments().apply(i)).name();
      }
      String arguments = lambda.arguments().size() == 1 ? names : "(" + names + ")";
      return new PrettyAttribute(arguments + " -> " + readable(lambda.function()).sql(), lambda.function().dataType());
    }
    return (Expression) expression.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) {
        return readable((Expression) child);
      }
    });
  }

  /** Whether a time zone has one offset from UTC, always. */
  public boolean fixedOffset(String zone) {
    return org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(zone).getRules().isFixedOffset();
  }

  /**
   * Whether the local date never goes back in a time zone. It does in America/St_Johns, where clocks were turned back at 00:01.
   * Recurring rules are checked for the years to 2200: they repeat.
   */
  public boolean datesAscend(String zone) {
    java.time.zone.ZoneRules rules = org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(zone).getRules();
    List transitions = new ArrayList(rules.getTransitions());
    for (int i = 0; i < rules.getTransitionRules().size(); i++) {
      java.time.zone.ZoneOffsetTransitionRule rule = (java.time.zone.ZoneOffsetTransitionRule) rules.getTransitionRules().get(i);
      for (int year = 1970; year < 2200; year++) transitions.add(rule.createTransition(year));
    }
    for (int i = 0; i < transitions.size(); i++) {
      java.time.zone.ZoneOffsetTransition transition = (java.time.zone.ZoneOffsetTransition) transitions.get(i);
      java.time.LocalDate last = transition.getDateTimeBefore().minusNanos(1).toLocalDate();
      if (transition.getDateTimeAfter().toLocalDate().isBefore(last)) return false;
    }
    return true;
  }

  /**
   * Bisects the domain of the target for a function f (node `function`) that is monotone on it, against constant c (node `constant`).
   *
   * Returns "first,reached,passed,last,increasing,null,nan": f has a value on [first, last] (elsewhere it
   * raises or gives NULL); `reached` is the smallest x there with f(x) >= c and `passed` the smallest with f(x) > c, or
   * last + 1 (mirrored for a decreasing f: f(x) <= c, f(x) < c). "null" says whether f(NULL) is NULL; "nan" how f(NaN) compares with c
   * (-1, 0, 1; "?" where it has no value). Numbers are ordinals, see `Domain`. The nodes `checked` are evaluated in the form that raises.
   * Returns null where f has no value at the middle of the domain or none somewhere between first and last, or the type has no domain.
   */
  public String bisect(int function, int constant, String targets, String checked) {
    try {
      return search(function, constant, targets, checked);
    } catch (Exception e) {
      return null;
    }
  }

  private String search(int function, int constant, String targets, String checked) {
    Expression bound = bind(function, targets, checked);
    Expression literal = node(constant);
    DataType type = node(Integer.parseInt(targets.split(",")[0])).dataType();
    if (bound == null || !literal.foldable() || !Domain.has(type)) return null;
    Object c = literal.eval(null);
    Probe probe = new Probe(bound, type, c);
    if (c == null || !probe.hasValue(BigInteger.ZERO)) return null;
    BigInteger first = probe.edge(Domain.smallest(type));
    BigInteger last = probe.edge(Domain.largest(type));
    boolean increasing = probe.order(first, last) <= 0;
    BigInteger reached = probe.boundary(first, last, increasing, 0);
    BigInteger passed = probe.boundary(first, last, increasing, 1);
    boolean strict;
    try {
      strict = bound.eval(new GenericInternalRow(new Object[] {null})) == null;
    } catch (Exception e) {
      strict = false;
    }
    return first + "," + reached + "," + passed + "," + last + "," + increasing + "," + strict + "," + probe.nan();
  }

  /** Evaluates f at ordinals of its domain and compares with c, in Spark's own order. */
  private static final class Probe {
    private final Expression bound;
    private final DataType type;
    private final Object constant;
    private final scala.math.Ordering ordering;
    private final Object[] slot = new Object[1];
    private final InternalRow row = new GenericInternalRow(slot);

    Probe(Expression bound, DataType type, Object constant) {
      this.bound = bound;
      this.type = type;
      this.constant = constant;
      this.ordering = org.apache.spark.sql.catalyst.util.TypeUtils.getInterpretedOrdering(bound.dataType());
    }

    private Object at(BigInteger ordinal) {
      slot[0] = Domain.value(ordinal, type);
      return bound.eval(row);
    }

    boolean hasValue(BigInteger ordinal) {
      try {
        return at(ordinal) != null;
      } catch (Exception e) {
        return false;
      }
    }

    int order(BigInteger a, BigInteger b) {
      return ordering.compare(at(a), at(b));
    }

    String nan() {
      slot[0] = type instanceof FloatType ? (Object) new Float(Float.NaN) : type instanceof DoubleType ? new Double(Double.NaN) : null;
      try {
        Object value = slot[0] == null ? null : bound.eval(row);
        return value == null ? "?" : Integer.toString(Integer.signum(ordering.compare(value, constant)));
      } catch (Exception e) {
        return "?";
      }
    }

    /** The ordinal nearest to `end` at which f still has a value, coming from 0. */
    BigInteger edge(BigInteger end) {
      if (hasValue(end)) return end;
      BigInteger good = BigInteger.ZERO;
      BigInteger bad = end;
      while (bad.subtract(good).abs().compareTo(BigInteger.ONE) > 0) {
        BigInteger middle = good.add(bad).divide(BigInteger.TWO);
        if (hasValue(middle)) good = middle; else bad = middle;
      }
      return good;
    }

    /** The smallest x in [first, last] with sign(f(x) - c) >= wanted (for a decreasing f: c - f(x)), or last + 1. */
    BigInteger boundary(BigInteger first, BigInteger last, boolean increasing, int wanted) {
      BigInteger low = first;
      BigInteger high = last.add(BigInteger.ONE);
      while (low.compareTo(high) < 0) {
        BigInteger middle = low.add(high).shiftRight(1);
        int sign = Integer.signum(ordering.compare(at(middle), constant));
        if ((increasing ? sign : -sign) >= wanted) high = middle; else low = middle.add(BigInteger.ONE);
      }
      return low;
    }
  }
}
