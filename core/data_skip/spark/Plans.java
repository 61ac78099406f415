package data_skip;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CsvToStructs;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.HigherOrderFunction;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.optimizer.PushPredicateThroughJoin$;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** What reading and rewriting Catalyst's plans needs in more than one place. */
public final class Plans {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final JavaSerializer TASKS = new JavaSerializer(new org.apache.spark.SparkConf(false)); // as SparkEnv has it
  private static final int MOST_GROWTH = 2000;
  private static final ClassValue NEAREST = new ClassValue() {
    protected Object computeValue(Class type) {
      return Boolean.valueOf(type.getSimpleName().toUpperCase().contains("KNN"));
    }
  };
  private static final List FORMATS =
      java.util.Arrays.asList(
          new String[] {
            "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
            "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat",
            "org.apache.spark.sql.execution.datasources.csv.CSVFileFormat",
            "org.apache.spark.sql.execution.datasources.json.JsonFileFormat",
            "org.apache.spark.sql.execution.datasources.text.TextFileFormat",
            "org.apache.spark.sql.avro.AvroFileFormat",
          });
  private static final List NAMES = java.util.Arrays.asList(new String[] {"parquet", "orc", "csv", "json", "text", "avro"});

  private Plans() {}

  /** The one form of a path, that of `_metadata.file_path`: an escaped URI, without an empty authority. */
  public static String uri(org.apache.hadoop.fs.Path path) {
    java.net.URI uri = path.toUri();
    return uri.getScheme() + ":" + (uri.getRawAuthority() == null ? "" : "//" + uri.getRawAuthority()) + uri.getRawPath();
  }

  /** The short name of a format; of another class than Spark's own for that name, as table formats have, its class: it may make other rows. */
  public static String formatName(Object format) {
    String name = format.getClass().getName();
    if (!(format instanceof org.apache.spark.sql.sources.DataSourceRegister)) return name;
    String registered = ((org.apache.spark.sql.sources.DataSourceRegister) format).shortName();
    return FORMATS.contains(name) || !NAMES.contains(registered) ? registered : name;
  }

  public static boolean isSparks(Object format) {
    return FORMATS.contains(format.getClass().getName());
  }

  public static String json(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  public static scala.collection.immutable.Seq seq(List list) {
    return scala.jdk.javaapi.CollectionConverters.asScala(list).toSeq();
  }

  public static scala.collection.immutable.Seq noFilters() {
    return seq(new ArrayList());
  }

  public static Alias alias(Expression expression, String name) {
    return new Alias(expression, name, NamedExpression$.MODULE$.newExprId(), noFilters(), scala.Option.apply(null), noFilters());
  }

  /** The operands of a chain of ANDs. */
  public static List conjuncts(Expression expression) {
    return new ArrayList(
        scala.jdk.javaapi.CollectionConverters.asJava(PushPredicateThroughJoin$.MODULE$.splitConjunctivePredicates(expression)));
  }

  /**
   * Whether a function gives another value each time, though Spark calls it deterministic: aes_encrypt draws a vector to begin with,
   * from_csv takes a record with odd quotes apart in another way than the first one that it is given, where it leaves out fields, and of
   * functions that Spark takes for the same it runs one.
   */
  public static boolean isRandom(Expression expression) {
    if (expression instanceof HigherOrderFunction) return isTakenForOthers(expression, new ArrayList());
    if (expression instanceof CsvToStructs) {
      scala.Option required = ((CsvToStructs) expression).requiredSchema();
      return required.isDefined() && ((StructType) required.get()).length() < ((CsvToStructs) expression).schema().length();
    }
    return expression instanceof StaticInvoke && ((StaticInvoke) expression).functionName().equals("aesEncrypt");
  }

  /**
   * Whether Spark may take a function that is called for elements for another one: where a function inside of it asks for one of several
   * variables around, Spark's form tells them by their places in that (see Alike), as `zip_with(a, b, (x, y) -> exists(c, z -> z > x))` from
   * `... z > y`. Which of them an operator then runs for both depends on what else it evaluates.
   */
  private static boolean isTakenForOthers(Expression expression, List around) {
    List inside = around;
    if (expression instanceof LambdaFunction) {
      for (int i = 0; i < around.size() && around.size() > 1; i++) {
        if (expression.references().contains((NamedExpression) around.get(i))) return true;
      }
      inside = new ArrayList(around);
      inside.addAll(scala.jdk.javaapi.CollectionConverters.asJava(((LambdaFunction) expression).arguments()));
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (isTakenForOthers((Expression) children.next(), inside)) return true;
    return false;
  }

  /** Whether an expression gives a row the same each time, whichever rows are given to it before: Spark says so also of functions that do not. */
  public static boolean deterministic(Expression expression) {
    if (!expression.deterministic() || isRandom(expression)) return false;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (!deterministic((Expression) children.next())) return false;
    return true;
  }

  /**
   * Whether an expression says of a row what depends on the other rows of its side: it is among the k nearest, as Sedona's ST_KNN; or a
   * function of all rows of an operator that is made of it later, as ST_DBSCAN.
   */
  public static boolean dependsOnOtherRows(Expression expression) {
    if (NEAREST.get(expression.getClass()) == Boolean.TRUE) return true;
    boolean runElsewhere = expression instanceof Unevaluable && !(expression instanceof PythonUDF) && !(expression instanceof PlanExpression);
    if (runElsewhere && !expression.deterministic()) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (dependsOnOtherRows((Expression) children.next())) return true;
    return false;
  }

  /** Whether values of a type are equal only where they are the same: not 0.0 and -0.0, nor 'z' and 'Z' where a collation says so. */
  public static boolean exact(DataType type) {
    return !type.existsRecursively(new scala.runtime.AbstractFunction1() {
      public Object apply(Object part) {
        boolean collated = part instanceof StringType && !((StringType) part).supportsBinaryEquality();
        return Boolean.valueOf(collated || part instanceof FloatType || part instanceof DoubleType);
      }
    });
  }

  /** The expression, with no more than the columns of its scalar sub-queries: their plans hold lists of files. */
  public static Expression withoutQueries(Expression expression) {
    if (expression instanceof ScalarSubquery) {
      LogicalPlan plan = (LogicalPlan) ((ScalarSubquery) expression).plan();
      return (Expression) ((ScalarSubquery) expression).withNewPlan(LocalRelation$.MODULE$.apply(plan.output()));
    }
    if (!SubqueryExpression$.MODULE$.hasSubquery(expression)) return expression;
    return (Expression) expression.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return withoutQueries((Expression) child);
          }
        });
  }

  /** Spark's number of the running query; "" outside of one. What runs for a join belongs to its query. */
  public static String executionId(SparkSession session) {
    String id = session.sparkContext().getLocalProperty("spark.sql.execution.root.id");
    return id == null ? "" : id;
  }

  /** The same scan over another FileIndex. */
  public static LogicalRelation withLocation(LogicalRelation scan, FileIndex location) {
    HadoopFsRelation old = (HadoopFsRelation) scan.relation();
    return withRelation(scan, location, old.partitionSchema(), old.dataSchema(), old.fileFormat(), new HashMap(), scan.output(), null);
  }

  /**
   * The same scan for collecting: an unreadable file is an error, never an empty one. `malformed`, for text formats: the column in which each
   * record is kept that could not be parsed, one more where the schema has none; the scan then reads leniently, whatever the user's mode.
   * What the files' index says of partitions beyond those of the scan are further columns.
   */
  public static LogicalRelation forCollecting(LogicalRelation scan, FileIndex location, String malformed, String part) {
    StructType schema = ((HadoopFsRelation) scan.relation()).dataSchema();
    List output = new ArrayList(scala.jdk.javaapi.CollectionConverters.asJava(scan.output()));
    Map options = readingAllOrFailing();
    if (malformed != null) {
      if (schema.getFieldIndex(malformed).isEmpty()) {
        schema = schema.add(malformed, DataTypes.StringType);
        output.add(attribute(schema, schema.length() - 1));
      }
      options.put("mode", "PERMISSIVE");
      options.put("columnNameOfCorruptRecord", malformed);
      options.put("columnPruning", "false");
    }
    StructType partitions = ((HadoopFsRelation) scan.relation()).partitionSchema();
    int known = ((HadoopFsRelation) scan.relation()).location().partitionSchema().length();
    for (int i = known; i < location.partitionSchema().length(); i++) {
      partitions = partitions.add(location.partitionSchema().fields()[i]);
      output.add(attribute(partitions, partitions.length() - 1));
    }
    return withRelation(scan, location, partitions, schema, ((HadoopFsRelation) scan.relation()).fileFormat(), options, seq(output), part);
  }

  /** The lines of the same files, as they lie, in a column; what the files' index says of partitions are further ones. */
  public static LogicalRelation lines(LogicalRelation scan, FileIndex location, String line, String encoding, String part) {
    StructType schema = new StructType().add(line, DataTypes.StringType);
    List output = new ArrayList();
    output.add(attribute(schema, 0));
    for (int i = 0; i < location.partitionSchema().length(); i++) output.add(attribute(location.partitionSchema(), i));
    Map options = readingAllOrFailing();
    options.put("wholetext", "false");
    options.put("encoding", encoding); // of the separator of lines
    return withRelation(scan, location, location.partitionSchema(), schema, new TextFileFormat(), options, seq(output), part);
  }

  private static Map readingAllOrFailing() {
    Map options = new HashMap();
    options.put("ignoreCorruptFiles", "false");
    options.put("ignoreMissingFiles", "false");
    return options;
  }

  private static Object attribute(StructType schema, int field) {
    return org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttribute(schema.fields()[field]);
  }

  private static LogicalRelation withRelation(
      LogicalRelation scan, FileIndex location, StructType partitionSchema, StructType dataSchema, FileFormat format, Map changes,
      scala.collection.immutable.Seq output, String part) {
    HadoopFsRelation old = (HadoopFsRelation) scan.relation();
    HadoopFsRelation relation =
        new HadoopFsRelation(
            location, partitionSchema, dataSchema, old.bucketSpec(), format, options(old.options(), changes), cutting(old.sparkSession(), part));
    Object[] arguments = new Object[scan.productArity()];
    for (int i = 0; i < arguments.length; i++) {
      Object argument = scan.productElement(i);
      arguments[i] = argument == old ? relation : argument == scan.output() ? output : argument;
    }
    return (LogicalRelation) scan.makeCopy(arguments);
  }

  /** The session, or one like it whose files are cut into parts of at most so many bytes: others that run in the session are left alone. */
  private static org.apache.spark.sql.classic.SparkSession cutting(SparkSession session, String part) {
    org.apache.spark.sql.classic.SparkSession own = (org.apache.spark.sql.classic.SparkSession) session;
    if (part == null) return own;
    own = own.cloneSession();
    own.conf().set("spark.sql.files.maxPartitionBytes", part);
    return own;
  }

  /** A reader may ask for an option in any letters. */
  private static scala.collection.immutable.Map options(scala.collection.immutable.Map old, Map changes) {
    if (changes.isEmpty()) return old;
    java.util.TreeMap options = new java.util.TreeMap(String.CASE_INSENSITIVE_ORDER);
    options.putAll(scala.jdk.javaapi.CollectionConverters.asJava(old));
    options.putAll(changes);
    return CaseInsensitiveMap$.MODULE$.apply(
        scala.collection.immutable.Map$.MODULE$.from(scala.jdk.javaapi.CollectionConverters.asScala(options)));
  }

  /** The only file relation of a plan that merely selects from it; null where there is none. */
  public static LogicalRelation onlyRelation(LogicalPlan plan) {
    while (plan instanceof SubqueryAlias || plan instanceof Project) plan = (LogicalPlan) plan.children().head();
    boolean files = plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation;
    return files ? (LogicalRelation) plan : null;
  }

  /**
   * The expressions that a Project or the extraction of Python UDFs computes, by the id of the attribute that it gives them; but of functions
   * that meddle with each other nobody knows what they give.
   */
  public static Map computed(LogicalPlan plan) {
    Map result = new HashMap();
    if (plan instanceof Project) {
      scala.collection.Iterator list = ((Project) plan).projectList().iterator();
      while (list.hasNext()) {
        Object named = list.next();
        if (named instanceof Alias) result.put(((Alias) named).exprId(), ((Alias) named).child());
      }
    } else if (plan instanceof BaseEvalPython && !Meddling.between(((BaseEvalPython) plan).udfs())) {
      BaseEvalPython python = (BaseEvalPython) plan;
      for (int i = 0; i < python.udfs().size(); i++) {
        result.put(((NamedExpression) python.resultAttrs().apply(i)).exprId(), python.udfs().apply(i));
      }
    }
    return result;
  }

  /** An expression, whatever its literals are. */
  public static String shape(Expression expression) {
    if (expression instanceof Literal) return "?";
    StringBuilder text = new StringBuilder(expression instanceof Attribute ? ((Attribute) expression).name() : expression.prettyName()).append('(');
    String last = "";
    for (int i = 0; i < expression.children().size(); i++) {
      String child = shape((Expression) expression.children().apply(i));
      if (!child.equals("?") || !last.equals("?")) text.append(child).append(','); // of a list
      last = child;
    }
    return text.append(')').toString();
  }

  /** By the ids of a union's output the attributes that one of its parts gives it. */
  public static Map renamed(LogicalPlan union, LogicalPlan part) {
    Map result = new HashMap();
    for (int i = 0; i < union.output().size(); i++) result.put(((Attribute) union.output().apply(i)).exprId(), part.output().apply(i));
    return result;
  }

  /** Whether types are the same, with fields of the same names, but for what may be NULL. Their texts do not tell: of names like `a:int,b`. */
  public static boolean namesAlike(DataType one, DataType other) {
    return DataType.equalsIgnoreNullability(one, other);
  }

  /**
   * The expression with a state of its own, to be evaluated here: lambda variables hold values, and evaluators (as of to_json and xpath) and
   * users' functions what they write to. Threads share those of one DataFrame; a task is given a copy, made as this one.
   */
  public static Expression unshared(Expression expression) {
    Expression own = withOwnVariables(expression).freshCopyIfContainsStatefulExpression();
    if (!hasState(own)) return own;
    SerializerInstance serializer = TASKS.newInstance();
    ClassLoader loader = org.apache.spark.util.Utils$.MODULE$.getContextOrSparkClassLoader();
    scala.reflect.ClassTag tag = scala.reflect.ClassTag$.MODULE$.apply(Expression.class);
    return (Expression) serializer.deserialize(serializer.serialize(own, tag), loader, tag);
  }

  private static Expression withOwnVariables(Expression expression) {
    if (expression instanceof NamedLambdaVariable) {
      NamedLambdaVariable shared = (NamedLambdaVariable) expression;
      return new NamedLambdaVariable(shared.name(), shared.dataType(), shared.nullable(), shared.exprId(), new AtomicReference());
    }
    return (Expression) expression.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return withOwnVariables((Expression) child);
          }
        });
  }

  /** Whether an expression holds an object, or is none of Spark's own. What these keep besides is made anew with each copy. */
  private static boolean hasState(Expression expression) {
    boolean object = expression instanceof Literal && expression.dataType() instanceof ObjectType;
    if (object || expression instanceof ScalaUDF || !expression.getClass().getName().startsWith("org.apache.spark.sql.catalyst.")) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (hasState((Expression) children.next())) return true;
    return false;
  }

  /**
   * The expressions, with each attribute that `byId` names replaced; without those that would grow by more than MOST_GROWTH nodes. An alias
   * that is used twice, of one that is, and so on, doubles with each: Spark's CollapseProject stops there, too. And without those of structs
   * whose fields have other names below, as in a part of a union, or in the only part that is left: Spark evaluates them by those above.
   */
  public static List substituteAll(List expressions, Map byId) {
    List result = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) {
      Expression expression = (Expression) expressions.get(i);
      if (growth(expression, byId, MOST_GROWTH) >= 0) result.add(substitute(expression, byId));
    }
    return result;
  }

  /** What is left of so many nodes by which an expression may grow; less than 0: nothing, or it would not be the same. */
  private static int growth(Expression expression, Map byId, int left) {
    if (expression instanceof AttributeReference) {
      Object replacement = byId.get(((AttributeReference) expression).exprId());
      if (replacement == null) return left;
      return namesAlike(expression.dataType(), ((Expression) replacement).dataType()) ? less((Expression) replacement, left) : -1;
    }
    for (int i = 0; i < expression.children().size() && left >= 0; i++) left = growth((Expression) expression.children().apply(i), byId, left);
    return left;
  }

  private static int less(Expression expression, int left) {
    left--;
    for (int i = 0; i < expression.children().size() && left >= 0; i++) left = less((Expression) expression.children().apply(i), left);
    return left;
  }

  /** The expression, with each attribute that `byId` names replaced. */
  public static Expression substitute(Expression expression, final Map byId) {
    if (byId.isEmpty()) return expression;
    if (expression instanceof AttributeReference) {
      Object replacement = byId.get(((AttributeReference) expression).exprId());
      return replacement == null ? expression : (Expression) replacement;
    }
    return (Expression) expression.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return substitute((Expression) child, byId);
          }
        });
  }
}
