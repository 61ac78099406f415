package data_skip;

import java.math.BigDecimal;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetArrayStructFields;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.HigherOrderFunction;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Encodes a Catalyst expression as nested maps, ready for JSON: class name, children, data type, literal value and every
 * scalar constructor parameter (a Cast's time zone and ANSI mode among them), of functions that Spark does not bring a digest of their
 * jar, so that two trees are equal in Python only when they mean the same in Spark. What cannot be encoded becomes a text that equals
 * nothing else, in this or any session.
 *
 * Each node gets a number, its place in `nodes`: Python names nodes by it when it asks Spark to evaluate one.
 */
public final class TreeEncoder {
  /** Differs from session to session: what cannot be encoded must not look equal to anything of another session. */
  private static final String SESSION = java.util.UUID.randomUUID().toString();
  private static final AtomicLong OPAQUE = new AtomicLong(); // addresses and hashes come again

  private int randoms; // that were encoded
  private final List variables = new ArrayList(); // of the lambda functions around a node, by id: known by their depth, not by their names
  private final Map columns;
  private final StructType partitionSchema;
  public final List nodes = new ArrayList();

  /** @param columns ExprId -> name of each output attribute of the relation. */
  public TreeEncoder(Map columns, StructType partitionSchema) {
    this.columns = columns;
    this.partitionSchema = partitionSchema;
  }

  public Map encode(Expression expression) {
    Map json = new LinkedHashMap();
    json.put("id", new Integer(nodes.size()));
    nodes.add(expression);
    json.put("name", Code.nameOf(expression));
    json.put("type", typeName(expression.dataType()));
    if (expression instanceof AttributeReference) {
      encodeAttribute((AttributeReference) expression, json);
    } else if (expression instanceof Literal) {
      Literal literal = (Literal) expression;
      json.put("value", value(literal.value(), literal.dataType()));
    } else if (expression instanceof NamedLambdaVariable) {
      int depth = variables.lastIndexOf(((NamedLambdaVariable) expression).exprId());
      json.put("parameters", single("variable", depth < 0 ? (Object) opaque(expression) : new Integer(depth)));
      json.put("deterministic", Boolean.TRUE);
    } else if (expression instanceof LambdaFunction) {
      scala.collection.immutable.Seq arguments = ((LambdaFunction) expression).arguments();
      for (int i = 0; i < arguments.size(); i++) variables.add(((NamedExpression) arguments.apply(i)).exprId());
      int before = randoms;
      json.put("children", encodeAll(operands(expression)));
      json.put("deterministic", Boolean.valueOf(expression.deterministic() && randoms == before));
      variables.subList(variables.size() - arguments.size(), variables.size()).clear();
    } else if (expression instanceof PlanExpression) {
      json.put("parameters", single("plan", opaque(expression)));
      json.put("deterministic", Boolean.FALSE);
    } else if (expression instanceof HigherOrderFunction && (Determinism.isRandom(expression) || namesFieldsOtherwise((HigherOrderFunction) expression))) {
      randoms++;
      json.put("name", Code.nameOf(expression) + " that is evaluated as another");
      json.put("parameters", single("function", opaque(expression)));
      json.put("deterministic", Boolean.FALSE);
    } else {
      int before = randoms;
      json.put("children", encodeAll(operands(expression)));
      Map parameters = parameters(expression);
      if (Doubtful.here(expression)) parameters.put("doubtful", Boolean.TRUE);
      json.put("parameters", parameters);
      if (Determinism.isRandom(expression)) randoms++;
      json.put("deterministic", Boolean.valueOf(expression.deterministic() && randoms == before));
    }
    return json;
  }

  private void encodeAttribute(AttributeReference attribute, Map json) {
    ExprId id = attribute.exprId();
    if (!columns.containsKey(id)) {
      json.put("parameters", single("attribute", opaque(attribute)));
      json.put("deterministic", Boolean.TRUE);
      return;
    }
    String column = (String) columns.get(id); // a query may spell it in another case
    json.put("column", column);
    json.put("partition", Boolean.valueOf(partitionSchema.getFieldIndex(column).isDefined()));
  }

  /** AND and OR are encoded with all operands of a chain side by side, so that a long chain is not a deep tree. */
  private static List operands(Expression expression) {
    List result = new ArrayList();
    if (!(expression instanceof And) && !(expression instanceof Or)) {
      scala.collection.Iterator children = expression.children().iterator();
      while (children.hasNext()) result.add(children.next());
      return result;
    }
    java.util.ArrayDeque open = new java.util.ArrayDeque();
    open.push(expression);
    while (!open.isEmpty()) {
      Expression next = (Expression) open.pop();
      if (next.getClass() == expression.getClass()) {
        open.push(next.children().apply(1));
        open.push(next.children().apply(0));
      } else {
        result.add(next);
      }
    }
    return result;
  }

  private List encodeAll(List expressions) {
    List result = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) result.add(encode((Expression) expressions.get(i)));
    return result;
  }

  private Map parameters(Expression expression) {
    if (expression instanceof GetStructField) {
      GetStructField get = (GetStructField) expression;
      return single("field", field((StructType) get.child().dataType(), get.ordinal()));
    }
    if (expression instanceof GetArrayStructFields) { // below a union, the field that it tells is of another part of that
      GetArrayStructFields get = (GetArrayStructFields) expression;
      return single("field", field((StructType) ((ArrayType) get.child().dataType()).elementType(), get.ordinal()));
    }
    if (expression instanceof InSet) {
      InSet inSet = (InSet) expression;
      return single("values", values(inSet.hset().iterator(), inSet.child().dataType()));
    }
    if (expression instanceof PythonUDF) return pythonFunction((PythonUDF) expression);
    Map result = new LinkedHashMap();
    scala.Product product = (scala.Product) expression;
    for (int i = 0; i < product.productArity(); i++) {
      Object element = product.productElement(i);
      if (!holdsExpressions(element) && !(element instanceof ExprId)) {
        result.put(product.productElementName(i), scalar(element));
      }
    }
    String code = code(expression, product);
    if (!code.isEmpty()) result.put("code", code.contains("?") ? opaque(expression) : code);
    return result;
  }

  /** The name of a field, as Spark finds it: by its place. Of several with one name, none is told from the others. */
  private static String field(StructType type, int place) {
    String name = type.fields()[place].name();
    for (int i = 0; i < type.length(); i++) if (i != place && type.fields()[i].name().equals(name)) return opaque(new Object());
    return name;
  }

  /**
   * Whether the functions that are called for elements know these by other types than they have, as below a union of arrays whose structs have
   * fields of other names: Spark finds them by their places all the same.
   */
  private static boolean namesFieldsOtherwise(HigherOrderFunction function) {
    final boolean[] otherwise = new boolean[1];
    function.bind(new scala.runtime.AbstractFunction2() {
      public Object apply(Object called, Object types) {
        scala.collection.immutable.Seq known = ((LambdaFunction) called).arguments();
        scala.collection.immutable.Seq given = (scala.collection.immutable.Seq) types;
        for (int i = 0; i < known.size() && i < given.size(); i++) {
          otherwise[0] |= !Substitution.namesAlike(((Expression) known.apply(i)).dataType(), (DataType) ((scala.Tuple2) given.apply(i))._1());
        }
        return called;
      }
    });
    return otherwise[0];
  }

  /** The code of a function that Spark does not bring, or that it calls by the name of its class, as Hive's; "" of another. */
  private static String code(Expression expression, scala.Product product) {
    String code = Code.of(expression.getClass());
    for (int i = 0; i < product.productArity(); i++) {
      Object element = product.productElement(i);
      if (element instanceof Class) code += Code.of((Class) element);
      if (element == null || !element.getClass().getSimpleName().equals("HiveFunctionWrapper")) continue;
      code += Code.ofName((String) ((scala.Product) element).productElement(0));
    }
    return code;
  }

  /**
   * A Python function is known by its pickled code, and by the variables of the environment that it is given. That is all of it for as long
   * as it says by its version: see functions.py.
   */
  private static Map pythonFunction(PythonUDF function) {
    Map result = new LinkedHashMap();
    result.put("name", function.name());
    result.put("evalType", new Integer(function.evalType()));
    if (PythonResults.changeBesideOthers(function)) result.put("changes_beside_others", Boolean.TRUE);
    try {
      java.io.ByteArrayOutputStream pickled = new java.io.ByteArrayOutputStream();
      scala.collection.Iterator code = function.func().command().iterator();
      while (code.hasNext()) pickled.write(((Byte) code.next()).byteValue());
      result.put("code", digest(pickled.toByteArray()));
      if (!PythonResults.isVersioned(function)) result.put("unversioned", Boolean.TRUE);
      result.put("environment", digest(new java.util.TreeMap(function.func().envVars()).toString().getBytes("UTF-8"))); // may be secrets
    } catch (Exception e) {
      result.put("code", opaque(function));
    }
    return result;
  }

  private static String digest(byte[] bytes) throws Exception {
    return Base64.getEncoder().encodeToString(MessageDigest.getInstance("SHA-256").digest(bytes));
  }

  private static boolean holdsExpressions(Object element) {
    if (element instanceof Expression) return true;
    if (element instanceof scala.Option) {
      return ((scala.Option) element).isDefined() && holdsExpressions(((scala.Option) element).get());
    }
    if (element instanceof scala.collection.Seq) {
      scala.collection.Seq seq = (scala.collection.Seq) element;
      return !seq.isEmpty() && holdsExpressions(seq.head());
    }
    if (element instanceof scala.Tuple2) return holdsExpressions(((scala.Tuple2) element)._1());
    return false;
  }

  private static Object scalar(Object element) {
    if (element == null || element instanceof String || element instanceof Number || element instanceof Boolean) return element;
    if (element instanceof Character || element instanceof UTF8String) return element.toString();
    if (element instanceof DataType) return hasDefaults((DataType) element) ? ((DataType) element).json() : typeName((DataType) element);
    if (element instanceof Class) return ((Class) element).getName();
    if (element instanceof Enum || element instanceof scala.Enumeration.Value) return element.toString();
    if (element instanceof byte[]) return Base64.getEncoder().encodeToString((byte[]) element);
    if (element instanceof scala.Option) {
      return ((scala.Option) element).isEmpty() ? null : scalar(((scala.Option) element).get());
    }
    if (element instanceof scala.collection.Seq) {
      List result = new ArrayList();
      scala.collection.Iterator items = ((scala.collection.Seq) element).iterator();
      while (items.hasNext()) result.add(scalar(items.next()));
      return result;
    }
    if (element instanceof scala.collection.Map) {
      Map result = new java.util.TreeMap();
      scala.collection.Iterator items = ((scala.collection.Map) element).iterator();
      while (items.hasNext()) {
        scala.Tuple2 item = (scala.Tuple2) items.next();
        result.put(String.valueOf(item._1()), scalar(item._2()));
      }
      return result;
    }
    if (element instanceof scala.Product) {
      String name = element.getClass().getName();
      String code = name.startsWith("scala.") ? "" : Code.of(element.getClass());
      if (code.contains("?")) return opaque(element);
      List result = new ArrayList();
      result.add(name);
      if (!code.isEmpty()) result.add(single("code", code));
      scala.collection.Iterator items = ((scala.Product) element).productIterator();
      while (items.hasNext()) result.add(scalar(items.next()));
      return result;
    }
    return opaque(element);
  }

  private static String opaque(Object element) {
    return "?" + element.getClass().getName() + "@" + OPAQUE.incrementAndGet() + "@" + SESSION;
  }

  /** The value of a literal in Spark's own representation: {"null": true}, {"int": ..}, {"text": base64}, ...; days for dates, microseconds for times. */
  public static Object value(Object value, DataType type) {
    if (value == null) return single("null", Boolean.TRUE);
    if (type instanceof UserDefinedType) type = ((UserDefinedType) type).sqlType();
    if (value instanceof Boolean) return single("bool", value);
    if (value instanceof Float || value instanceof Double) {
      return single("double", Long.toString(Double.doubleToLongBits(((Number) value).doubleValue())));
    }
    if (value instanceof Number) return single("int", value.toString());
    if (value instanceof Decimal) {
      BigDecimal decimal = ((Decimal) value).toJavaBigDecimal();
      return single("decimal", decimal.toPlainString());
    }
    if (value instanceof UTF8String) {
      return single("text", Base64.getEncoder().encodeToString(((UTF8String) value).getBytes()));
    }
    if (value instanceof byte[]) return single("bytes", Base64.getEncoder().encodeToString((byte[]) value));
    if (value instanceof ArrayData && type instanceof ArrayType) {
      DataType element = ((ArrayType) type).elementType();
      ArrayData array = (ArrayData) value;
      List result = new ArrayList();
      for (int i = 0; i < array.numElements(); i++) {
        result.add(value(array.isNullAt(i) ? null : array.get(i, element), element));
      }
      return single("array", result);
    }
    if (value instanceof InternalRow && type instanceof StructType) {
      StructField[] fields = ((StructType) type).fields();
      List result = new ArrayList();
      for (int i = 0; i < fields.length; i++) {
        DataType field = fields[i].dataType();
        result.add(value(((InternalRow) value).isNullAt(i) ? null : ((InternalRow) value).get(i, field), field));
      }
      return single("array", result);
    }
    // A case class, as the evaluator inside parse_url, is what its parameters are.
    return single("opaque", value instanceof scala.Product ? Plans.json(scalar(value)) : opaque(value));
  }

  private static List values(scala.collection.Iterator items, DataType type) {
    List result = new ArrayList();
    while (items.hasNext()) result.add(value(items.next(), type));
    return result;
  }

  private static Map single(String key, Object value) {
    Map result = new LinkedHashMap();
    result.put(key, value);
    return result;
  }

  /** As Spark names it. Names of fields stand there as they are: where some could be taken for several fields, JSON tells the type besides. */
  public static String typeName(DataType type) {
    if (type instanceof UserDefinedType) return userDefined(type.getClass().getSimpleName(), ((UserDefinedType) type).sqlType());
    String name = isAmbiguous(type) ? type.catalogString() + " " + type.json() : type.catalogString();
    if (name.indexOf(" collate ") < 0) return name;
    return name.replaceAll("string collate UTF8_BINARY(?![A-Za-z_])", "string"); // later versions of Spark tell the default where it is written out
  }

  /** Those that are not kept as bytes, as Sedona's are, tell of what they are made: it may be times, which are of a zone. */
  private static String userDefined(String name, DataType kept) {
    return "udt " + name + (kept instanceof BinaryType ? "" : " of " + typeName(kept));
  }

  /** Whether fields have a value for what lacks them, as from_json and from_csv fill it in. */
  private static boolean hasDefaults(DataType type) {
    return !(type instanceof AtomicType) && type.json().contains("\"EXISTS_DEFAULT\":");
  }

  private static boolean isAmbiguous(DataType type) {
    return type.existsRecursively(new scala.runtime.AbstractFunction1() {
      public Object apply(Object part) {
        String[] names = part instanceof StructType ? ((StructType) part).fieldNames() : new String[0];
        for (int i = 0; i < names.length; i++) if (names[i].indexOf(',') >= 0 || names[i].indexOf('>') >= 0) return Boolean.TRUE;
        return Boolean.FALSE;
      }
    });
  }
}
