package data_skip;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedExtractValue;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.VariableSubstitution;

/** Expressions that stand in an index, and which somebody else may have written there. */
public final class Foreign {
  /** Functions that call code by its name, compile it, or read a file or a host that is named. */
  private static final Set REFUSED = set(
      "reflect java_method try_reflect from_protobuf to_protobuf schema_of_xml schema_of_avro read_files http_request ai_query"
          + " rs_frompath rs_mapalgebra expandaddress parseaddress");

  /** Functions with so many arguments beside options, of which one names a file. */
  private static final Map BEFORE_OPTIONS = places("from_xml 2 from_avro 2");

  /** Functions of which an argument is XML: that names files and hosts, which are read as parts of it. */
  private static final Set OF_XML = set(
      "xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string st_geomfromgml st_geomfromkml");

  /** Functions of which an argument, at this place, is a type: one that is written as JSON may name a class, of which an object is made. */
  private static final Map OF_TYPES = places("from_json 1 from_csv 1 from_xml 1 variant_get 2 try_variant_get 2");

  private static final Set TELLING_TYPES = set("schema_of_json schema_of_csv");

  private static Set set(String names) {
    return new HashSet(Arrays.asList(names.split(" ")));
  }

  private static Map places(String text) {
    String[] words = text.split(" ");
    Map result = new HashMap();
    for (int i = 0; i < words.length; i += 2) result.put(words[i], Integer.valueOf(words[i + 1]));
    return result;
  }

  /** Why one may not be analysed, let alone evaluated; "" where it may. It is parsed, and nothing in it is looked up. */
  public static String whyNotEvaluated(SparkSession session, String sql) throws Exception {
    // Spark's parser does so before anything else: by settings, some of which are secret, the environment, and properties of Java.
    if (!new VariableSubstitution().substitute(sql).equals(sql)) return "holds a ${...}, which stands for something of this session";
    ArrayDeque open = new ArrayDeque();
    try {
      open.add(session.sessionState().sqlParser().parseExpression(sql));
    } catch (StackOverflowError error) {
      return "is nested too deep";
    }
    while (!open.isEmpty()) {
      Expression node = (Expression) open.pop();
      if (node instanceof PlanExpression) return "holds a subquery";
      if (node.getClass().getSimpleName().contains("Identifier")) return "names a function or a column by an expression";
      if (node instanceof UnresolvedFunction) {
        String why = whyNotCalled((UnresolvedFunction) node);
        if (!why.isEmpty()) return why;
      }
      scala.collection.Iterator children = node.children().iterator();
      while (children.hasNext()) open.push(children.next());
    }
    return "";
  }

  private static String whyNotCalled(UnresolvedFunction call) {
    String name = nameOf(call);
    int count = call.arguments().size();
    Integer most = (Integer) BEFORE_OPTIONS.get(name);
    if (REFUSED.contains(name) || (most != null && count > most.intValue())) return "calls " + name;
    if (OF_XML.contains(name) && count > 0 && !isColumn((Expression) call.arguments().head())) {
      return "calls " + name + " of other XML than a column's";
    }
    Integer place = (Integer) OF_TYPES.get(name);
    if (place != null && count > place.intValue() && !isType((Expression) call.arguments().apply(place.intValue()))) {
      return "calls " + name + " with a type that may name a class";
    }
    return "";
  }

  private static String nameOf(UnresolvedFunction call) {
    return ((String) call.nameParts().last()).toLowerCase(Locale.ROOT);
  }

  /** Whether it is a column, or a field of one, as it lies. */
  private static boolean isColumn(Expression node) {
    while (node instanceof Cast || (node instanceof UnresolvedExtractValue && node.children().last() instanceof Literal)) {
      node = (Expression) node.children().head();
    }
    return node instanceof UnresolvedAttribute;
  }

  private static boolean isType(Expression node) {
    if (node instanceof Literal) return ((Literal) node).value() != null && !((Literal) node).value().toString().contains("{");
    return node instanceof UnresolvedFunction && TELLING_TYPES.contains(nameOf((UnresolvedFunction) node)) && isConstant(node);
  }

  /** Whether it holds literals, and calls of functions by which types are told. */
  private static boolean isConstant(Expression node) {
    if (node instanceof Literal) return true;
    if (!(node instanceof UnresolvedFunction)) return false;
    String name = nameOf((UnresolvedFunction) node);
    if (!name.equals("map") && !TELLING_TYPES.contains(name)) return false;
    scala.collection.Iterator children = node.children().iterator();
    while (children.hasNext()) if (!isConstant((Expression) children.next())) return false;
    return true;
  }
}
