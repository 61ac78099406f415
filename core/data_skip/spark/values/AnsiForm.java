package data_skip;

import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** Expressions in the form that raises an error where they overflow, instead of wrapping round. */
public final class AnsiForm {
  private AnsiForm() {}

  /**
   * Spark's ANSI form of arithmetic or a cast: where the other form (LEGACY) wraps round, this one raises an error. It is asked for
   * errors only, since its values may be others: a long decimal becomes an int by way of a double.
   */
  public static Expression of(Expression expression) {
    Object[] arguments = new Object[expression.productArity()];
    for (int i = 0; i < arguments.length; i++) arguments[i] = inAnsi(expression.productElementName(i), expression.productElement(i));
    return (Expression) expression.makeCopy(arguments);
  }

  private static Object inAnsi(String name, Object argument) {
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
}
