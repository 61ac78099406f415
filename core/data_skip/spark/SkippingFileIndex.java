package data_skip;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A FileIndex that lists what the wrapped one lists, less the files which Python proves to hold no row of this scan's
 * predicate. Where Python fails, every file stays.
 */
public final class SkippingFileIndex implements FileIndex {
  private static final java.util.concurrent.atomic.AtomicLong COUNTER = new java.util.concurrent.atomic.AtomicLong();

  private final long number = COUNTER.incrementAndGet();
  private final FileIndex wrapped;
  private final HadoopFsRelation relation;
  private final BiFunction python;
  private final TreeEncoder encoder;
  private final String description;

  public SkippingFileIndex(LogicalRelation scan, Expression predicate, BiFunction python) {
    this.relation = (HadoopFsRelation) scan.relation();
    this.wrapped = relation.location();
    this.python = python;
    this.encoder = encoder(scan);
    Map json = describe(scan);
    json.put("predicate", predicate == null ? null : encoder.encode(predicate));
    this.description = Plans.json(json);
  }

  public static TreeEncoder encoder(LogicalRelation scan) {
    Map columns = new HashMap();
    scala.collection.Iterator output = scan.output().iterator();
    while (output.hasNext()) {
      Attribute attribute = (Attribute) output.next();
      columns.put(attribute.exprId(), attribute.name());
    }
    return new TreeEncoder(columns, ((HadoopFsRelation) scan.relation()).partitionSchema());
  }

  private Map describe(LogicalRelation scan) {
    Map json = new LinkedHashMap();
    List roots = new ArrayList();
    if (scan.catalogTable().isDefined()) {
      roots.add(Plans.uri(new Path(((CatalogTable) scan.catalogTable().get()).location())));
    }
    scala.collection.Iterator paths = wrapped.rootPaths().iterator();
    while (paths.hasNext()) roots.add(Plans.uri((Path) paths.next()));
    json.put("roots", roots);
    Object format = relation.fileFormat();
    json.put("format", format instanceof DataSourceRegister ? ((DataSourceRegister) format).shortName() : format.getClass().getName());
    json.put("options", scala.jdk.javaapi.CollectionConverters.asJava(relation.options()));
    json.put("schema", relation.dataSchema().json());
    json.put("partitionSchema", relation.partitionSchema().json());
    return json;
  }

  /** Tells the scans of a query apart. */
  public long number() {
    return number;
  }

  /** JSON: roots, format, options, schema, partitionSchema and the encoded predicate. */
  public String description() {
    return description;
  }

  public Evaluator evaluator() {
    return new Evaluator(encoder.nodes);
  }

  public org.apache.spark.sql.classic.SparkSession session() {
    return (org.apache.spark.sql.classic.SparkSession) relation.sparkSession();
  }

  /** The session's values of some settings ("" where unset), and of `user.timezone` that of the JVM, as a JSON object. */
  public String settings(String keys) {
    Map result = new LinkedHashMap();
    String[] names = keys.split(",");
    for (int i = 0; i < names.length; i++) {
      boolean system = names[i].equals("user.timezone");
      result.put(names[i], system ? java.util.TimeZone.getDefault().getID() : setting(names[i]));
    }
    return Plans.json(result);
  }

  private String setting(String key) {
    try {
      return session().sessionState().conf().getConfString(key);
    } catch (java.util.NoSuchElementException unset) {
      return "";
    }
  }

  /** All files, whatever the predicate: for collecting an index. */
  public Listing listing() {
    return new Listing(this, wrapped.listFiles(Plans.noFilters(), Plans.noFilters()));
  }

  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    scala.collection.immutable.Seq all = wrapped.listFiles(partitionFilters, dataFilters);
    if (!Plans.enabled(session().sessionState().conf())) return all;
    Listing listing = new Listing(this, all);
    try {
      return "decided".equals(python.apply("list", listing)) ? listing.kept() : all;
    } catch (Throwable unknown) {
      return all;
    }
  }

  /** Spark explains a FileIndex by its root paths alone: so the first of them tells the clause where it is printed. */
  public scala.collection.immutable.Seq rootPaths() {
    List paths = new ArrayList(scala.jdk.javaapi.CollectionConverters.asJava(wrapped.rootPaths()));
    if (!paths.isEmpty()) paths.set(0, new ExplainedPath((Path) paths.get(0), this));
    return Plans.seq(paths);
  }

  public String[] inputFiles() {
    return wrapped.inputFiles();
  }

  public void refresh() {
    wrapped.refresh();
  }

  public long sizeInBytes() {
    return wrapped.sizeInBytes();
  }

  public StructType partitionSchema() {
    return wrapped.partitionSchema();
  }

  public scala.Option metadataOpsTimeNs() {
    return wrapped.metadataOpsTimeNs();
  }

  /** A Path in everything but its printed form. */
  private static final class ExplainedPath extends Path {
    private final SkippingFileIndex scan;

    ExplainedPath(Path path, SkippingFileIndex scan) {
      super(path.toUri());
      this.scan = scan;
    }

    public String toString() {
      return super.toString() + " " + scan;
    }
  }

  public String toString() {
    try {
      return "skipping: " + python.apply("explain", this);
    } catch (Throwable unknown) {
      return "skipping: unknown";
    }
  }

  /** Two scans may share one result when they list the same files for the same predicate. */
  public boolean equals(Object other) {
    if (!(other instanceof SkippingFileIndex)) return false;
    SkippingFileIndex that = (SkippingFileIndex) other;
    return wrapped.equals(that.wrapped) && description.equals(that.description);
  }

  public int hashCode() {
    return 31 * wrapped.hashCode() + description.hashCode();
  }

  /** One listing of the files of a scan, in bulk, for Python. */
  public static final class Listing {
    private final SkippingFileIndex scan;
    private final scala.collection.immutable.Seq directories;
    private final List files = new ArrayList();
    private final byte[] keep;
    private int[] slots;

    public Listing(SkippingFileIndex scan, scala.collection.immutable.Seq directories) {
      this.scan = scan;
      this.directories = directories;
      scala.collection.Iterator iterator = directories.iterator();
      while (iterator.hasNext()) {
        scala.collection.Iterator inside = ((PartitionDirectory) iterator.next()).files().iterator();
        while (inside.hasNext()) files.add(inside.next());
      }
      this.keep = new byte[files.size()];
      keepAll();
    }

    public SkippingFileIndex scan() {
      return scan;
    }

    /** Spark's number of the running query; "" outside of one. */
    public String executionId() {
      String id = scan.session().sparkContext().getLocalProperty("spark.sql.execution.id");
      return id == null ? "" : id;
    }

    private FileStatusWithMetadata file(int i) {
      return (FileStatusWithMetadata) files.get(i);
    }

    /** The path of each file as `_metadata.file_path` has it, a line each. */
    public byte[] paths() {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < files.size(); i++) {
        if (i > 0) text.append('\n');
        text.append(Plans.uri(file(i).getPath()));
      }
      return text.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8);
    }

    /** Spark's xxhash64 of each file's `_metadata.file_path`, as big-endian longs. */
    public byte[] hashes() {
      ByteBuffer buffer = ByteBuffer.allocate(8 * files.size());
      for (int i = 0; i < files.size(); i++) {
        List path = new ArrayList();
        path.add(new Literal(UTF8String.fromString(Plans.uri(file(i).getPath())), DataTypes.StringType));
        buffer.putLong(((Long) new XxHash64(Plans.seq(path)).eval(null)).longValue());
      }
      return buffer.array();
    }

    /** Size and modification time (ms) of each file, as big-endian longs. */
    public byte[] identities() {
      ByteBuffer buffer = ByteBuffer.allocate(16 * files.size());
      for (int i = 0; i < files.size(); i++) buffer.putLong(file(i).getLen()).putLong(file(i).getModificationTime());
      return buffer.array();
    }

    public int count() {
      return files.size();
    }

    public long bytes() {
      long total = 0;
      for (int i = 0; i < files.size(); i++) total += file(i).getLen();
      return total;
    }

    /** Which file versions of a snapshot are listed, a bit each (the lowest first); null where the snapshot is not known here. */
    public byte[] present(String snapshot) {
      KnownFiles known = KnownFiles.get(snapshot);
      return known == null ? null : bits(slots(known));
    }

    /** As `present`, of a snapshot that is told here. */
    public byte[] present(String snapshot, String root, byte[] versions) {
      return bits(slots(KnownFiles.put(snapshot, root, versions)));
    }

    private int[] slots(KnownFiles known) {
      int[] slots = new int[files.size()];
      for (int i = 0; i < slots.length; i++) {
        slots[i] = known.slot(Plans.uri(file(i).getPath()), file(i).getLen(), file(i).getModificationTime());
      }
      this.slots = slots;
      return slots;
    }

    private static byte[] bits(int[] slots) {
      BitSet bits = new BitSet();
      for (int i = 0; i < slots.length; i++) if (slots[i] >= 0) bits.set(slots[i]);
      return bits.toByteArray();
    }

    /** Takes away the listed files whose bit is set, in the snapshot that `present` was last asked about. */
    public void skip(byte[] versions) {
      BitSet skipped = BitSet.valueOf(versions);
      for (int i = 0; i < slots.length; i++) if (slots[i] >= 0 && skipped.get(slots[i])) keep[i] = 0;
    }

    /** Takes back what was skipped. */
    public void keepAll() {
      Arrays.fill(keep, (byte) 1);
    }

    /** A byte a file: 1 where it is to be read. */
    public byte[] keep() {
      return keep;
    }

    public void keepOnly(byte[] chosen) {
      System.arraycopy(chosen, 0, keep, 0, keep.length);
    }

    /** The directories with only those files that are to be read. */
    public scala.collection.immutable.Seq kept() {
      List result = new ArrayList();
      int next = 0;
      scala.collection.Iterator iterator = directories.iterator();
      while (iterator.hasNext()) {
        PartitionDirectory directory = (PartitionDirectory) iterator.next();
        List inside = new ArrayList();
        for (int i = 0; i < directory.files().size(); i++) if (keep[next + i] == 1) inside.add(files.get(next + i));
        next += directory.files().size();
        if (!inside.isEmpty()) result.add(directory.copy(directory.values(), Plans.seq(inside)));
      }
      return Plans.seq(result);
    }
  }

  /** A relation over just these files of another one: for collecting an index. */
  public static final class ChosenFiles implements FileIndex {
    private final FileIndex wrapped;
    private final scala.collection.immutable.Seq directories;

    public ChosenFiles(Listing listing) {
      this.wrapped = listing.scan.wrapped;
      this.directories = listing.kept();
    }

    public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
      return directories;
    }

    public scala.collection.immutable.Seq rootPaths() {
      return wrapped.rootPaths();
    }

    public String[] inputFiles() {
      return wrapped.inputFiles();
    }

    public void refresh() {}

    public long sizeInBytes() {
      return wrapped.sizeInBytes();
    }

    public StructType partitionSchema() {
      return wrapped.partitionSchema();
    }

    public scala.Option metadataOpsTimeNs() {
      return wrapped.metadataOpsTimeNs();
    }
  }
}
