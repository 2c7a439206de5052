# Draws docs/images/scale.svg from docs/scale.csv: gnuplot docs/images/scale.gnuplot, from the top folder.
set terminal svg size 900,420 font "sans-serif,13" background "white"
set output "docs/images/scale.svg"
set datafile separator comma
set multiplot layout 1,2

set logscale x 10
set xlabel "nodes"
set xtics format "10^{%T}"
set xrange [800:1250000]
set key left top samplen 2
set grid xtics ytics linecolor "#dddddd"

of(tree) = sprintf("< grep '\"%s' docs/scale.csv", tree)

set title "broadcast and merged reply, warm"
set ylabel "virtual time, µs"
set yrange [0:*]
plot of("kary") using 1:7 with linespoints pointtype 7 linecolor "#1b9e77" title "k-ary", \
     of("kary") using 1:8 with lines dashtype 2 linecolor "#1b9e77" notitle, \
     of("knomial") using 1:7 with linespoints pointtype 5 linecolor "#d95f02" title "k-nomial", \
     of("knomial") using 1:8 with lines dashtype 2 linecolor "#d95f02" notitle, \
     of("greedy") using 1:7 with linespoints pointtype 9 linecolor "#7570b3" title "greedy", \
     of("greedy") using 1:8 with lines dashtype 2 linecolor "#7570b3" notitle, \
     NaN with lines dashtype 2 linecolor "black" title "model"

set key right top samplen 2
set title "the same, with flat and chain"
set logscale y 10
set ytics format "10^{%T}"
set yrange [50:1000000]
plot of("flat") using 1:7 with linespoints pointtype 11 linecolor "#e7298a" title "flat", \
     of("chain") using 1:7 with linespoints pointtype 13 linecolor "#66a61e" title "chain", \
     of("kary") using 1:7 with linespoints pointtype 7 linecolor "#1b9e77" title "k-ary", \
     of("knomial") using 1:7 with linespoints pointtype 5 linecolor "#d95f02" title "k-nomial", \
     of("greedy") using 1:7 with linespoints pointtype 9 linecolor "#7570b3" title "greedy"
