package data_skip;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * An expression that is evaluated for one value after the other. What raises an error may leave some of its operands behind, as in the
 * builders of maps (ArrayBasedMapBuilder), and would add them to the next value: in a job an error ends all. So it is made anew then.
 */
public final class Repeated {
  private Expression expression;

  public Repeated(Expression expression) {
    this.expression = expression;
  }

  public Object eval(InternalRow row) {
    boolean raised = true;
    try {
      Object value = expression.eval(row);
      raised = false;
      return value;
    } catch (StackOverflowError deep) { // as of a regular expression on a long text: of the other values Spark may tell
      throw new IllegalStateException(deep);
    } finally {
      if (raised) expression = Unshared.of(expression);
    }
  }
}
