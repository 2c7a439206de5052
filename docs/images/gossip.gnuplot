# Draws docs/images/gossip.svg from docs/gossip.csv and docs/gossip-ages.csv:
# gnuplot docs/images/gossip.gnuplot, from the top folder.
set terminal svg size 900,420 font "sans-serif,13" background "white"
set output "docs/images/gossip.svg"
set datafile separator comma
set multiplot layout 1,2
set grid xtics ytics linecolor "#dddddd"

ages(scenario, rule, nodes, loss) = \
  sprintf("< grep '^%s,%s,%d,%s,' docs/gossip-ages.csv", scenario, rule, nodes, loss)
sizes(loss) = sprintf("< grep -E '^calm,guarded,[0-9]+,%s,' docs/gossip.csv", loss)

set title "1,024 nodes, 5 % loss: share of pairs with a higher age"
set xlabel "age, cycles"
set logscale y 10
set format y "10^{%T}"
set yrange [1e-9:1]
set xrange [0:30]
set key right top samplen 2
plot ages("together", "source", 1024, "0.05") using 5:6 with lines dashtype 2 linecolor "#e7298a" title "source, together", \
     ages("calm", "source", 1024, "0.05") using 5:6 with lines linecolor "#e7298a" title "source", \
     ages("calm", "relative", 1024, "0.05") using 5:6 with lines linecolor "#7570b3" title "source's ages, retries", \
     ages("calm", "guarded fudge 2", 1024, "0.05") using 5:6 with lines linecolor "#66a61e" title "guarded, fudge 2", \
     ages("calm", "guarded no retry", 1024, "0.05") using 5:6 with lines linecolor "#d95f02" title "guarded, no retry", \
     ages("calm", "guarded", 1024, "0.05") using 5:6 with lines linewidth 2 linecolor "#1b9e77" title "guarded"

set title "from a death to the last verdict"
unset logscale y
set format y "%g"
set xlabel "nodes"
set ylabel "cycles"
set logscale x 2
set xrange [12:90000]
set yrange [0:26]
set key right bottom samplen 2
plot sizes("0.05") using 3:18 with linespoints pointtype 7 linecolor "#1b9e77" title "last of all, 5 %", \
     sizes("0.2") using 3:18 with linespoints pointtype 5 linecolor "#d95f02" title "last of all, 20 %", \
     sizes("0.05") using 3:16 with lines dashtype 3 linecolor "#1b9e77" title "first, 5 %", \
     sizes("0.05") using 3:6 with lines dashtype 2 linecolor "black" title "threshold, 5 %"
