package data_skip;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A scan, as a plan has it, over other files, or read otherwise. */
public final class Relations {
  private Relations() {}

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
    return withRelation(scan, location, partitions, schema, ((HadoopFsRelation) scan.relation()).fileFormat(), options, Plans.seq(output), part);
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
    return withRelation(scan, location, location.partitionSchema(), schema, new TextFileFormat(), options, Plans.seq(output), part);
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
  public static LogicalRelation only(LogicalPlan plan) {
    while (plan instanceof SubqueryAlias || plan instanceof Project) plan = (LogicalPlan) plan.children().head();
    boolean files = plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation;
    return files ? (LogicalRelation) plan : null;
  }
}
