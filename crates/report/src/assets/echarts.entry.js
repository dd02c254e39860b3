// The parts of Apache ECharts that the report uses; README.md says how this becomes
// echarts.min.js.
import { init, use, version } from "echarts/core";
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent, DataZoomInsideComponent, GridComponent, LegendComponent, MarkLineComponent,
  ToolboxComponent, TooltipComponent, VisualMapContinuousComponent,
} from "echarts/components";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

use([
  BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart,
  AriaComponent, DataZoomInsideComponent, GridComponent, LegendComponent, MarkLineComponent,
  ToolboxComponent, TooltipComponent, VisualMapContinuousComponent,
  CanvasRenderer, SVGRenderer,
]);

export { init, version };
