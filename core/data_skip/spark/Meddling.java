package data_skip;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.types.AnsiIntervalType;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DatetimeType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** Where Python functions that one operator runs may give something else there than each gives by itself. */
public final class Meddling {

  private Meddling() {}

  /** Whether that may be so of the functions that some expressions call. */
  public static boolean between(scala.collection.Seq expressions) {
    return mixesEnvironments(expressions) || sharesArguments(expressions);
  }

  /**
   * Whether some expressions call Python functions that were given different environments, Pythons, or archives: of those that one operator
   * runs Spark takes the first one's for all, and the archives of all for each (BasePythonRunner).
   */
  public static boolean mixesEnvironments(scala.collection.Seq expressions) {
    Set found = new HashSet();
    Iterator functions = functions(expressions).iterator();
    while (functions.hasNext()) {
      PythonFunction function = ((PythonUDF) functions.next()).func();
      Set archives = new HashSet(function.pythonIncludes());
      found.add(Arrays.asList(new Object[] {new HashMap(function.envVars()), function.pythonExec(), archives}));
    }
    return found.size() > 1;
  }

  /**
   * Whether some expressions call functions that are given one argument, which one of them may change in place: Spark gives all functions of an
   * operator the very same, so that others are given what is left of it. A function with a version leaves it as it is: see functions.py.
   */
  public static boolean sharesArguments(scala.collection.Seq expressions) {
    Map unversionedGiven = new HashMap(); // by argument: whether a function before, that is given it, has no version
    Iterator functions = functions(expressions).iterator();
    while (functions.hasNext()) {
      PythonUDF function = (PythonUDF) functions.next();
      boolean unversioned = !PythonResults.isVersioned(function);
      if (unversioned && mayShareBytes(function)) return true;
      Iterator arguments = changeable(function).iterator();
      while (arguments.hasNext()) {
        Object argument = arguments.next();
        Boolean before = (Boolean) unversionedGiven.get(argument);
        if (before != null && (unversioned || before.booleanValue())) return true;
        unversionedGiven.put(argument, Boolean.valueOf(unversioned));
      }
    }
    return false;
  }

  /** The functions that expressions call; of equal ones one, as Spark runs them. */
  private static Set functions(scala.collection.Seq expressions) {
    Set found = new HashSet();
    for (int i = 0; i < expressions.size(); i++) functions((Expression) expressions.apply(i), found);
    return found;
  }

  private static void functions(Expression expression, Set found) {
    if (expression instanceof PythonUDF) found.add(expression.canonicalized());
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) functions((Expression) children.next(), found);
  }

  /**
   * The arguments that Python may change: all of vectors; of rows those that are not fixed. Where one is what another function gives, those of
   * that one as well: it may give what it is given.
   */
  private static Set changeable(PythonUDF function) {
    boolean byRow = function.evalType() == PythonResults.ROW_AT_A_TIME || function.evalType() == PythonResults.ROWS_BY_ARROW;
    Set found = new HashSet();
    scala.collection.Iterator arguments = function.children().iterator();
    while (arguments.hasNext()) {
      Expression argument = given((Expression) arguments.next());
      if (argument instanceof PythonUDF) found.addAll(changeable((PythonUDF) argument));
      if (!byRow || !isFixed(argument.dataType())) found.add(argument.canonicalized());
    }
    return found;
  }

  /** Whether Python has values of a type as what nobody can change. Not so a VARIANT, though it is atomic. */
  private static boolean isFixed(DataType type) {
    boolean ofTime = type instanceof DatetimeType || type instanceof AnsiIntervalType;
    return ofTime || type instanceof NumericType || type instanceof StringType || type instanceof BooleanType || type instanceof NullType;
  }

  /**
   * Whether a function that is pickled its rows may be given bytes that are those of another argument, or of another row, as of a literal: Spark
   * pickles the same array of bytes once, for a hundred rows together, where it needs a memo, as for dates. What is read of a row is a copy.
   */
  private static boolean mayShareBytes(PythonUDF function) {
    scala.collection.Iterator arguments = function.children().iterator();
    while (arguments.hasNext()) {
      Expression argument = given((Expression) arguments.next());
      if (argument instanceof PythonUDF && mayShareBytes((PythonUDF) argument)) return true;
      if (function.evalType() == PythonResults.ROW_AT_A_TIME && !isRead(argument) && holdsBytes(argument.dataType())) return true;
    }
    return false;
  }

  /** Whether or not it is given by its name. */
  private static Expression given(Expression argument) {
    return argument instanceof NamedArgumentExpression ? ((NamedArgumentExpression) argument).value() : argument;
  }

  private static boolean isRead(Expression argument) {
    while (argument instanceof GetStructField) argument = ((GetStructField) argument).child();
    return argument instanceof Attribute;
  }

  private static boolean holdsBytes(DataType type) {
    return type.existsRecursively(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object part) {
            boolean nested = part instanceof ArrayType || part instanceof MapType || part instanceof StructType;
            return Boolean.valueOf(!nested && !isFixed((DataType) part));
          }
        });
  }
}
