package data_skip;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BindReferences$;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.catalyst.plans.logical.Union$;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A job over expressions that call Python functions, for rows of values.
 *
 * A vectorised function may give other results in a batch with a NULL, as of lengths, which pandas makes numbers with fractions of. So the rows are put to
 * it in batches in which an argument is NULL in all of them or in none; and again with one more row, for each choice of the others that
 * are NULL there. A batch is a partition, of no more rows than Spark takes at once: for n arguments, a job has up to 3^n of them.
 * One that pandas gives others of the very arguments is not asked: what it gives values that no index lists, as of a file that is new, nobody
 * knows, and by skipping the file with the NULL it would give them something else. See Operators, too.
 */
public final class PythonBatches {
  private static final List VECTORISED = Arrays.asList(new Object[] {new Integer(101), new Integer(200), new Integer(250)}); // Spark's PythonEvalType
  private static final int MOST_ARGUMENTS = 3;
  private static final String MOST_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"; // where it is set, a batch may be cut anywhere
  public static final Object CONFLICT = new Object();

  private final List expressions;
  private final List attributes;
  private final List arguments; // of vectorised functions, that may be NULL

  private PythonBatches(List expressions, List attributes, List arguments) {
    this.expressions = expressions;
    this.attributes = attributes;
    this.arguments = arguments;
  }

  /** Whether an expression calls a Python function. */
  public static boolean in(Expression expression) {
    if (expression instanceof PythonUDF) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (in((Expression) children.next())) return true;
    return false;
  }

  /** Which functions are called: by their names and pickles. */
  public String functions() {
    java.util.TreeSet found = new java.util.TreeSet();
    for (int i = 0; i < expressions.size(); i++) functions((Expression) expressions.get(i), found);
    return found.toString();
  }

  /** As `functions`, of an expression. */
  public static String functions(Expression expression) {
    java.util.TreeSet found = new java.util.TreeSet();
    functions(expression, found);
    return found.toString();
  }

  private static void functions(Expression expression, java.util.Set found) {
    if (expression instanceof PythonUDF) found.add(((PythonUDF) expression).name() + " " + ((PythonUDF) expression).func().command().hashCode());
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) functions((Expression) children.next(), found);
  }

  /**
   * Whether a function that is not replaced takes what another one gives. Spark may hand that on within a worker, where it is no value of its
   * type: a number as Python has it, not the float that an index holds.
   */
  public static boolean takesResults(Expression expression, Map replaced) {
    if (replaced.containsKey(expression)) return false;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      Expression child = (Expression) children.next();
      if (expression instanceof PythonUDF ? in(child) : takesResults(child, replaced)) return true;
    }
    return false;
  }

  /** Expressions over some attributes; null where they hold functions of other kinds, functions of functions, such as meddle with each other, or too many arguments. */
  public static PythonBatches of(List expressions, List attributes) {
    if (Meddling.between(Plans.seq(expressions))) return null;
    List arguments = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) if (!collect((Expression) expressions.get(i), arguments)) return null;
    return arguments.size() <= MOST_ARGUMENTS ? new PythonBatches(expressions, attributes, arguments) : null;
  }

  private static boolean collect(Expression expression, List arguments) {
    boolean function = expression instanceof PythonUDF;
    Integer kind = function ? new Integer(((PythonUDF) expression).evalType()) : null;
    if (function && !VECTORISED.contains(kind) && kind.intValue() != PythonResults.ROW_AT_A_TIME) return false;
    if (function && PythonResults.dependOnOthers((PythonUDF) expression)) return false;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      Expression child = (Expression) children.next();
      if (function ? in(child) : !collect(child, arguments)) return false;
      if (function && VECTORISED.contains(kind) && !child.foldable() && nested(child.dataType())) return false; // a NULL may be inside
      if (function && VECTORISED.contains(kind) && mayBeNull(child) && place(child, arguments) < 0) arguments.add(child);
    }
    return true;
  }

  private static boolean nested(DataType type) {
    return type instanceof ArrayType || type instanceof StructType || type instanceof MapType;
  }

  private static boolean mayBeNull(Expression argument) {
    return !argument.foldable() && argument.nullable();
  }

  private static int place(Expression argument, List arguments) {
    for (int i = 0; i < arguments.size(); i++) if (((Expression) arguments.get(i)).semanticEquals(argument)) return i;
    return -1;
  }

  /** The bytes of a row's values, roughly. */
  public static long size(InternalRow row) {
    long size = 8 * row.numFields();
    for (int i = 0; i < row.numFields(); i++) {
      Object value = ((GenericInternalRow) row).values()[i];
      if (value instanceof UTF8String) size += ((UTF8String) value).numBytes();
      else if (value instanceof byte[]) size += ((byte[]) value).length;
    }
    return size;
  }

  /** What each expression gives for the rows at some places, by place; CONFLICT where batches differ, nothing where that is unknown. */
  public List run(SparkSession session, List rows, List places) {
    boolean cut = !arguments.isEmpty() && session.sessionState().conf().contains(MOST_BYTES);
    AttributeReference place = attribute("place");
    AttributeReference nulls = attribute("nulls");
    List columns = new ArrayList(Arrays.asList(new Object[] {place, nulls}));
    columns.addAll(attributes);
    Map rowsByNulls = cut ? new HashMap() : groups(rows, places);
    java.util.Iterator groups = rowsByNulls.entrySet().iterator();
    LogicalPlan all = null;
    while (groups.hasNext()) {
      Map.Entry group = (Map.Entry) groups.next();
      for (int form = 0; form < 1 << arguments.size(); form++) {
        if ((form & ((Integer) group.getKey()).intValue()) != 0) continue; // these are NULL in all rows as it is
        LogicalPlan batch = new Repartition(1, false, relation(columns, batch(rows, (List) group.getValue(), form)));
        all = all == null ? batch : Union$.MODULE$.apply(all, batch);
      }
    }
    return collected(session, all, place, nulls);
  }

  private static AttributeReference attribute(String name) {
    return new AttributeReference(name, DataTypes.IntegerType, false, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Plans.noFilters());
  }

  /** The places by which arguments are NULL there; without those where an argument raises an error. */
  private Map groups(List rows, List places) {
    List bound = new ArrayList();
    for (int i = 0; i < arguments.size(); i++) {
      bound.add(new Repeated((Expression) BindReferences$.MODULE$.bindReference(
          (Expression) arguments.get(i), new org.apache.spark.sql.catalyst.expressions.package$AttributeSeq(Plans.seq(attributes)), false)));
    }
    Map groups = new LinkedHashMap();
    for (int i = 0; i < places.size(); i++) {
      int nulls = 0;
      try {
        for (int j = 0; j < bound.size(); j++) {
          if (((Repeated) bound.get(j)).eval((InternalRow) rows.get(((Integer) places.get(i)).intValue())) == null) nulls |= 1 << j;
        }
      } catch (Exception raised) {
        continue;
      }
      Integer key = new Integer(nulls);
      if (!groups.containsKey(key)) groups.put(key, new ArrayList());
      ((List) groups.get(key)).add(places.get(i));
    }
    return groups;
  }

  /** The rows at some places, and where `form` names arguments one more, in which these are NULL. */
  private static List batch(List rows, List places, int form) {
    List batch = new ArrayList();
    for (int i = 0; i < places.size(); i++) batch.add(row((Integer) places.get(i), 0, (InternalRow) rows.get(((Integer) places.get(i)).intValue())));
    if (form != 0) batch.add(row(new Integer(-1), form, (InternalRow) rows.get(((Integer) places.get(0)).intValue())));
    return batch;
  }

  private static InternalRow row(Integer place, int nulls, InternalRow values) {
    Object[] all = new Object[2 + values.numFields()];
    all[0] = place;
    all[1] = new Integer(nulls);
    for (int i = 0; i < values.numFields(); i++) all[2 + i] = ((GenericInternalRow) values).values()[i];
    return new GenericInternalRow(all);
  }

  private static LogicalPlan relation(List columns, List rows) {
    LocalRelation empty = LocalRelation$.MODULE$.apply(Plans.seq(columns));
    Object[] arguments = new Object[empty.productArity()]; // their number differs between versions of Spark
    for (int i = 0; i < arguments.length; i++) arguments[i] = i == 1 ? Plans.seq(rows) : empty.productElement(i);
    return ((LocalRelation) empty.makeCopy(arguments));
  }

  private List collected(SparkSession session, LogicalPlan rows, Attribute place, Attribute nulls) {
    List columns = new ArrayList(Collections.singletonList(place));
    List found = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) {
      columns.add(Plans.alias(nulled((Expression) expressions.get(i), nulls), "result" + i));
      found.add(new HashMap());
    }
    if (rows == null) return found;
    LogicalPlan asked = new Project(Plans.seq(columns), rows);
    asked.setAnalyzed(); // as the query's own is, once it is optimised: the analyzer would compare texts of a collation as others
    InternalRow[] answers = SmallSide.run(Dataset$.MODULE$.ofRows(session, asked), "data-skip: Python functions");
    for (int i = 0; i < expressions.size(); i++) {
      Map byPlace = (Map) found.get(i);
      for (int r = 0; r < answers.length; r++) {
        Integer of = new Integer(answers[r].getInt(0));
        Object value = answers[r].isNullAt(i + 1) ? null : InternalRow.copyValue(answers[r].get(i + 1, ((Expression) expressions.get(i)).dataType()));
        if (byPlace.containsKey(of) && !java.util.Objects.equals(byPlace.get(of), value)) value = CONFLICT;
        byPlace.put(of, value);
      }
    }
    return found;
  }

  /** The expression, whose functions get NULL for the arguments that a row names. */
  private Expression nulled(Expression expression, final Attribute nulls) {
    final boolean function = expression instanceof PythonUDF;
    return (Expression) expression.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) {
        Expression argument = (Expression) child;
        int place = function ? place(argument, arguments) : -1;
        if (function && place < 0) return argument;
        if (!function) return nulled(argument, nulls);
        Expression named = new BitwiseAnd(nulls, new Literal(new Integer(1 << place), DataTypes.IntegerType));
        return new If(new EqualTo(named, new Literal(new Integer(0), DataTypes.IntegerType)), argument, new Literal(null, argument.dataType()));
      }
    });
  }
}
