package data_skip;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.CatalystTypeConverters$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Arguments of a table function or procedure, by their names, as JSON has them. Of parameters those that are not nullable must be given. */
public final class Arguments {
  private Arguments() {}

  /** Those of a table function, by place or by name. */
  public static Map of(String function, StructType parameters, scala.collection.immutable.Seq given) {
    Map values = new LinkedHashMap();
    boolean byName = false;
    scala.collection.Iterator each = given.iterator();
    for (int place = 0; each.hasNext(); place++) {
      Expression argument = (Expression) each.next();
      StructField parameter;
      if (argument instanceof NamedArgumentExpression) {
        byName = true;
        parameter = named(function, parameters, ((NamedArgumentExpression) argument).key());
        argument = ((NamedArgumentExpression) argument).value();
      } else {
        if (place >= parameters.length()) throw Statement.refused(function, "is given too many arguments; it takes " + shown(parameters));
        if (byName) throw Statement.refused(function, "an argument without a name stands behind one with a name");
        parameter = parameters.fields()[place];
      }
      if (values.containsKey(parameter.name())) throw Statement.refused(function, parameter.name() + " is given twice");
      values.put(parameter.name(), value(function, parameter, argument));
    }
    for (int i = 0; i < parameters.length(); i++) {
      StructField parameter = parameters.fields()[i];
      if (!parameter.nullable() && values.get(parameter.name()) == null) {
        throw Statement.refused(function, "needs " + parameter.name() + "; it takes " + shown(parameters));
      }
    }
    return values;
  }

  private static StructField named(String function, StructType parameters, String name) {
    for (int i = 0; i < parameters.length(); i++) {
      if (parameters.fields()[i].name().equalsIgnoreCase(name)) return parameters.fields()[i];
    }
    throw Statement.refused(function, "has no parameter " + name + "; it takes " + shown(parameters));
  }

  private static Object value(String function, StructField parameter, Expression given) {
    Expression constant = given instanceof Alias ? ((Alias) given).child() : given; // as of a variable of the session
    DataType type = constant.dataType();
    Object value;
    try {
      if (!constant.foldable()) throw new IllegalArgumentException();
      value = constant.eval(null);
    } catch (RuntimeException unknown) {
      String why = parameter.name() + " has to be a constant that is known before the query runs, not " + constant.sql();
      throw Statement.refused(function, why + "; of several ask by a call each, with UNION ALL between");
    }
    if (value == null) return null;
    if (!DataType.equalsStructurally(type, parameter.dataType(), true)) {
      throw Statement.refused(function, parameter.name() + " is of type " + parameter.dataType().sql() + ", not " + type.sql() + " as " + constant.sql());
    }
    return json(value, type);
  }

  /** A value as JSON has it. */
  public static Object json(Object value, DataType type) {
    if (value == null) return null;
    Object made = CatalystTypeConverters$.MODULE$.convertToScala(value, type);
    if (made instanceof scala.collection.Map) return scala.jdk.javaapi.CollectionConverters.asJava((scala.collection.Map) made);
    return made instanceof scala.collection.Seq ? new ArrayList(scala.jdk.javaapi.CollectionConverters.asJava((scala.collection.Seq) made)) : made;
  }

  /** For people. */
  public static String shown(StructType parameters) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < parameters.length(); i++) {
      StructField parameter = parameters.fields()[i];
      text.append(i == 0 ? "" : ", ").append(parameter.name()).append(" ").append(parameter.dataType().sql());
      if (parameter.nullable()) text.append(" (may be left out)");
    }
    return text.length() == 0 ? "no arguments" : text.toString();
  }
}
