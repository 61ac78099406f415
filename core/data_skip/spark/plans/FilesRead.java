package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.types.AtomicType;

/** What a scan reads, of those of one table that are to read the same files where they may read the same rows: see OrderOfRows. */
public final class FilesRead {
  private final LogicalRelation scan;
  private final List folders;
  private final List comparisons; // of what a row gives for itself with values
  private final List forms; // what each of them is about

  private FilesRead(Place place) {
    scan = (LogicalRelation) place.plan;
    folders = folders(scan);
    comparisons = comparisons(place);
    forms = forms(comparisons, place);
  }

  /** The folders that a leaf of a plan reads, each with a slash at its end; none of one that reads no files, as of a database. */
  public static List folders(LogicalPlan leaf) {
    List folders = new ArrayList();
    List roots = roots(leaf);
    for (int i = 0; i < roots.size(); i++) folders.add(roots.get(i) + "/");
    return folders;
  }

  private static List roots(LogicalPlan leaf) {
    if (leaf instanceof HiveTableRelation) return roots(((HiveTableRelation) leaf).tableMeta());
    if (leaf instanceof DataSourceV2ScanRelation) return roots(((DataSourceV2ScanRelation) leaf).scan());
    boolean readsFiles = leaf instanceof LogicalRelation && ((LogicalRelation) leaf).relation() instanceof HadoopFsRelation;
    return readsFiles ? Description.roots((LogicalRelation) leaf) : Collections.EMPTY_LIST;
  }

  private static List roots(CatalogTable table) {
    SparkSession session = org.apache.spark.sql.classic.SparkSession$.MODULE$.active();
    List paths = CatalogPartitions.locations(session, table);
    paths.add(new Path(table.location()));
    List roots = new ArrayList();
    for (int i = 0; i < paths.size(); i++) roots.add(Plans.uri(Description.qualified((Path) paths.get(i), session)));
    return roots;
  }

  private static List roots(Scan scan) {
    List roots = new ArrayList();
    if (!(scan instanceof FileScan)) return roots;
    scala.collection.Iterator paths = ((FileIndex) ((FileScan) scan).fileIndex()).rootPaths().iterator();
    while (paths.hasNext()) roots.add(Plans.uri((Path) paths.next()));
    return roots;
  }

  /** Whether one of some folders is one of others, or lies in it, or holds it. */
  public static boolean overlap(List mine, List theirs) {
    for (int i = 0; i < mine.size(); i++) {
      for (int j = 0; j < theirs.size(); j++) {
        String here = (String) mine.get(i);
        String there = (String) theirs.get(j);
        if (here.startsWith(there) || there.startsWith(here)) return true;
      }
    }
    return false;
  }

  /** Leaves of what each of these scans (alike) is given what all others of the folder are given, but those of other rows; none: nothing. */
  public static void giveTheSame(List places, Set alike, Set none) {
    List scans = new ArrayList();
    for (int i = 0; i < places.size(); i++) if (alike.contains(((Place) places.get(i)).plan)) scans.add(places.get(i));
    FilesRead[] read = new FilesRead[scans.size()];
    for (int i = 0; i < scans.size(); i++) {
      Place one = (Place) scans.get(i);
      one.given = none.contains(one.plan) ? PushedDown.NOTHING : PushedDown.NOTHING.and(one.given.predicates()); // sides may be run for one of them only
      read[i] = new FilesRead(one);
    }
    boolean[][] meet = new boolean[scans.size()][scans.size()];
    for (int i = 0; i < scans.size(); i++) for (int j = 0; j < scans.size(); j++) meet[i][j] = i != j && read[i].meets(read[j]);
    for (boolean changed = true; changed;) {
      changed = false;
      for (int i = 0; i < scans.size(); i++) {
        for (int j = 0; j < scans.size(); j++) changed = meet[i][j] && isLess((Place) scans.get(i), (Place) scans.get(j)) || changed;
      }
    }
  }

  private boolean meets(FilesRead other) {
    return overlap(folders, other.folders) && !areApart(other);
  }

  /** Leaves of what one is given what the other is given; whether that is less. */
  private static boolean isLess(Place one, Place other) {
    int before = one.given.predicates().size();
    boolean same = areReadAlike((LogicalRelation) one.plan, (LogicalRelation) other.plan);
    one.given = same ? one.given.among(other.given, places(one), places(other)) : PushedDown.NOTHING;
    return one.given.predicates().size() < before;
  }

  /** Whether an index that serves one serves the other as well: see store/reader.py. */
  private static boolean areReadAlike(LogicalRelation one, LogicalRelation other) {
    return one.schema().equals(other.schema()) && haveSameValues(one, other);
  }

  /** Whether a row has the same values in both: by place, as in CSV, one name may be of two columns, and by options one text of two dates. */
  private static boolean haveSameValues(LogicalRelation one, LogicalRelation other) {
    HadoopFsRelation here = (HadoopFsRelation) one.relation();
    HadoopFsRelation there = (HadoopFsRelation) other.relation();
    boolean format = here.fileFormat().getClass() == there.fileFormat().getClass() && here.options().equals(there.options());
    return format && here.sparkSession() == there.sparkSession() && here.schema().equals(there.schema());
  }

  private static Map places(Place scan) {
    return Alike.places(scan.plan.output());
  }

  /** Whether no row is of both, as of two days. */
  private boolean areApart(FilesRead other) {
    if (!haveSameValues(scan, other.scan)) return false;
    for (int i = 0; i < comparisons.size(); i++) {
      for (int j = 0; j < other.comparisons.size(); j++) {
        BinaryComparison here = (BinaryComparison) comparisons.get(i);
        BinaryComparison there = (BinaryComparison) other.comparisons.get(j);
        if (areSame(forms.get(i), other.forms.get(j)) && (isBelow(here, there) || isBelow(there, here))) return true;
      }
    }
    return false;
  }

  /** To `equals` alone of literals -0.0 is 0.0. */
  private static boolean areSame(Object one, Object other) {
    return one.hashCode() == other.hashCode() && one.equals(other);
  }

  /** What a row gives for itself, as a column or year(day), compared with a value; of a list with its ends. */
  private static List comparisons(Place scan) {
    List found = new ArrayList();
    for (int i = 0; i < scan.given.predicates().size(); i++) {
      List parts = Plans.conjuncts((Expression) scan.given.predicates().get(i));
      for (int j = 0; j < parts.size(); j++) {
        Expression part = (Expression) parts.get(j);
        boolean compares = part instanceof BinaryComparison || part instanceof In || part instanceof InSet;
        if (!compares || !isOfRow((Expression) part.children().head())) continue;
        boolean withValue = part instanceof BinaryComparison && ((BinaryComparison) part).right() instanceof Literal;
        if (withValue && ((Literal) part.children().last()).value() != null) found.add(part);
        if (!(part instanceof BinaryComparison)) found.addAll(ends(part));
      }
    }
    return found;
  }

  /** Whether an expression gives a row the same in each part of a query. */
  private static boolean isOfRow(Expression value) {
    boolean alone = !Plans.holds(value, PlanExpression.class) && !Plans.holds(value, PythonUDF.class);
    return alone && value.dataType() instanceof AtomicType && Plans.exact(value.dataType()) && Determinism.holds(value);
  }

  /** Of `value IN (...)` that it is not below the least of the list, nor above the largest. */
  private static List ends(Expression list) {
    Expression value = (Expression) list.children().head();
    List values = new ArrayList();
    if (list instanceof InSet) values.addAll(scala.jdk.javaapi.CollectionConverters.asJava(((InSet) list).hset()));
    for (int i = 1; i < list.children().size(); i++) {
      if (!(list.children().apply(i) instanceof Literal)) return new ArrayList();
      values.add(((Literal) list.children().apply(i)).value());
    }
    values.removeAll(Collections.singletonList(null)); // which equals nothing
    if (values.isEmpty()) return values;
    java.util.Comparator order = TypeUtils.getInterpretedOrdering(value.dataType());
    return KeyPredicates.range(value, Collections.min(values, order), Collections.max(values, order));
  }

  /** What each comparison is about. */
  private static List forms(List comparisons, Place scan) {
    List about = new ArrayList();
    for (int i = 0; i < comparisons.size(); i++) about.add(left((BinaryComparison) comparisons.get(i)));
    return Alike.exactly(about, places(scan));
  }

  private static Expression left(BinaryComparison comparison) {
    return (Expression) comparison.left();
  }

  private static Expression right(BinaryComparison comparison) {
    return (Expression) comparison.right();
  }

  private static boolean isBelow(BinaryComparison one, BinaryComparison other) {
    boolean ends = one instanceof EqualTo || one instanceof LessThan || one instanceof LessThanOrEqual;
    boolean begins = other instanceof EqualTo || other instanceof GreaterThan || other instanceof GreaterThanOrEqual;
    if (!ends || !begins || !right(one).dataType().equals(right(other).dataType())) return false;
    Object last = ((Literal) right(one)).value();
    int order = TypeUtils.getInterpretedOrdering(right(one).dataType()).compare(last, ((Literal) right(other)).value());
    return order < 0 || order == 0 && (one instanceof LessThan || other instanceof GreaterThan);
  }
}
