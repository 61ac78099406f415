package data_skip;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/**
 * Scans that Spark takes for equal, by their folder, though they have listed other files, before and after some were added, or are of two
 * sessions, which may read them otherwise. Spark may give the rows of the one for those of the other, so that nothing is sure of either.
 */
public final class FoldersReadTwice {
  private FoldersReadTwice() {}

  /** Whether there are any among the Places of a plan. */
  public static boolean among(List places) {
    Map locations = new HashMap();
    Map sessions = new HashMap();
    for (int i = 0; i < places.size(); i++) {
      LogicalPlan plan = ((Place) places.get(i)).plan;
      if (!(plan instanceof LogicalRelation) || !(((LogicalRelation) plan).relation() instanceof HadoopFsRelation)) continue;
      HadoopFsRelation relation = (HadoopFsRelation) ((LogicalRelation) plan).relation();
      Object session = sessions.put(relation, relation.sparkSession());
      if (session != null && session != relation.sparkSession()) return true;
      if (!(relation.location() instanceof PartitioningAwareFileIndex)) continue;
      PartitioningAwareFileIndex known = (PartitioningAwareFileIndex) locations.get(relation);
      if (known == null) locations.put(relation, relation.location());
      else if (known != relation.location() && !files(known).equals(files((PartitioningAwareFileIndex) relation.location()))) return true;
    }
    return false;
  }

  private static Set files(PartitioningAwareFileIndex location) {
    Set result = new HashSet();
    scala.collection.Iterator files = location.allFiles().iterator();
    while (files.hasNext()) {
      FileStatus file = (FileStatus) files.next();
      result.add(java.util.Arrays.asList(new Object[] {file.getPath(), new Long(file.getLen()), new Long(file.getModificationTime())}));
    }
    return result;
  }
}
