package data_skip;

import com.fasterxml.jackson.databind.util.RawValue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructType;

/** What Python is told of a scan, ready for JSON. */
public final class Description {
  private static final String[] SYSTEMS = {"fs.", "dfs.", "parquet.encryption.", "parquet.crypto."}; // as of settings.py: may be secrets

  private static final AtomicReferenceArray SCHEMAS = new AtomicReferenceArray(64); // of each a StructType, weakly, and JSON: its own JSON as a text
  private static final AtomicInteger OLDEST = new AtomicInteger();

  private Description() {}

  /** The root paths that are read; of a catalog table first its location. */
  public static List roots(LogicalRelation scan) {
    HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
    List roots = new ArrayList();
    if (scan.catalogTable().isDefined()) {
      roots.add(Plans.uri(new Path(((CatalogTable) scan.catalogTable().get()).location())));
    }
    scala.collection.Iterator paths = relation.location().rootPaths().iterator();
    while (paths.hasNext()) roots.add(Plans.uri(qualified((Path) paths.next(), (SparkSession) relation.sparkSession())));
    return roots;
  }

  /** format (code: of one that is not Spark's), options, schema. */
  public static Map of(LogicalRelation scan) {
    HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
    Map json = new LinkedHashMap();
    json.put("format", Plans.formatName(relation.fileFormat()));
    if (!Plans.isSparks(relation.fileFormat())) json.put("code", Code.of(relation.fileFormat().getClass()));
    json.put("options", options(relation));
    json.put("schema", schema(relation.dataSchema()));
    return json;
  }

  /** The schema as JSON, of those of the last tables made once: it is most of what is told of a scan. */
  private static RawValue schema(StructType schema) {
    for (int i = 0; i < SCHEMAS.length(); i++) {
      Object[] known = (Object[]) SCHEMAS.get(i);
      if (known != null && ((WeakReference) known[0]).get() == schema) return (RawValue) known[1];
    }
    RawValue json = new RawValue(Plans.json(Variants.asWritten(schema).json()));
    SCHEMAS.set(Math.floorMod(OLDEST.getAndIncrement(), SCHEMAS.length()), new Object[] {new WeakReference(schema), json});
    return json;
  }

  /** What the reader was told; of file systems and keys that it was, and not what: py4j logs what crosses. */
  private static Map options(HadoopFsRelation relation) {
    Map told = new LinkedHashMap(scala.jdk.javaapi.CollectionConverters.asJava(relation.options()));
    Iterator all = told.entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry option = (Map.Entry) all.next();
      for (int i = 0; i < SYSTEMS.length; i++) if (((String) option.getKey()).toLowerCase(Locale.ROOT).startsWith(SYSTEMS[i])) option.setValue("");
    }
    return told;
  }

  /** The table that a stream wrote names its root as the user did. */
  public static Path qualified(Path path, SparkSession session) {
    if (path.toUri().getScheme() != null) return path;
    try {
      return path.getFileSystem(session.sessionState().newHadoopConf()).makeQualified(path);
    } catch (java.io.IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The runtime filters of a scan. */
  public static List of(List runtimeFilters, LogicalRelation scan) {
    Map columns = columns(scan);
    List result = new ArrayList();
    for (int i = 0; i < runtimeFilters.size(); i++) result.add(of((RuntimeFilter) runtimeFilters.get(i), columns));
    return result;
  }

  /** What a query reads of each file, of which it asks for some columns (null: all): see ScannedFiles. row_bytes: -1 where it is not known. */
  public static Map of(LogicalRelation scan, AttributeSet asked) {
    Map json = new LinkedHashMap();
    json.put("whole", new Long(ScannedFiles.WHOLE));
    json.put("factor", new Double(ScannedFiles.factor(scan, asked)));
    json.put("row_bytes", new Long(ScannedFiles.rowBytes(scan, asked)));
    return json;
  }

  private static Map of(RuntimeFilter filter, Map columns) {
    Map json = new LinkedHashMap();
    json.put("columns", new ArrayList(filter.columns(columns)));
    json.put("bytes", new Long(filter.bytes()));
    json.put("least_saved_bytes", new Long(filter.leastSavedBytes()));
    json.put("keys", filter.keys(columns));
    json.put("conditions", filter.encoded(columns));
    return json;
  }

  /** The names of a scan's columns by the ids of its attributes. */
  public static Map columns(LogicalRelation scan) {
    Map columns = new HashMap();
    scala.collection.Iterator output = scan.output().iterator();
    while (output.hasNext()) {
      Attribute attribute = (Attribute) output.next();
      if (!attribute.metadata().contains("__metadata_col")) columns.put(attribute.exprId(), attribute.name()); // _metadata is no column
    }
    return columns;
  }
}
